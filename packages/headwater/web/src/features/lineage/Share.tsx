import { useEffect, useState, type ReactNode } from "react";
import { BASE, ONE_FILE, PROGRAM } from "../../api/base";
import { save } from "../../api/save";
import { writeToClipboard } from "../../components/Copy";
import { present } from "../../components/now";
import { Menu, type Choice } from "../../components/Menu";
import { COLOURS, pictureOf, scaleOf, type Pens, type Picture } from "../../graph/picture";
import { isoTime } from "../../graph/timeline";
import { formatView, type View } from "../../graph/view";
import { commandLine, moment, shellQuoted } from "../../graph/words";
import { markupOf, platformOf } from "../../platforms";
import { csvOf, fileName, jsonOf, mermaidOf } from "../../graph/written";
import type { Scene } from "./useScene";
import { COMPONENTS } from "../../strings/components";
import { TOOLBAR } from "../../strings/lineage";

const TEXTS = TOOLBAR.share;

/** A menu to copy the address of the view, and to save the shown graph as a picture or as data. */
export function Share({ scene: { graph, shown, drawn, isOutdated }, view }: { scene: Scene; view: View }): ReactNode {
  const [trouble, setTrouble] = useState("");
  const [copied, setCopied] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setCopied(""), 2_500);
    return () => clearTimeout(timer);
  }, [copied]);
  const now = new Date().toISOString();
  const name = fileName(view.node, view.at ?? now);
  const picture = () => {
    const title = view.node.slice(view.node.lastIndexOf(":") + 1);
    const when = [view.from, view.at ?? now].filter((at) => at !== null).map(moment);
    const about = TEXTS.caption(view.level, TEXTS.times(when), drawn.nodes.length);
    return pictureOf(drawn.nodes, drawn.edges, drawn.frames.map(({ box }) => box), title, about, pens());
  };
  const copy = (text: string, message: string) =>
    void writeToClipboard(text).then(
      () => setCopied(message),
      () => setTrouble(COMPONENTS.copy.failed),
    );
  const server = location.origin + BASE;
  const png = () => {
    setTrouble("");
    pngOf(picture()).then(
      (blob) => save(`${name}.png`, blob),
      () => setTrouble(TEXTS.tooLarge),
    );
  };
  return (
    <>
      <Menu
        icon={copied ? "done" : "share"}
        text={TEXTS.text}
        title={TEXTS.title}
        isDisabled={isOutdated || !graph || !shown || drawn.nodes.length === 0}
        choices={[
          ...(ONE_FILE ? [] : [choiceOf(TEXTS.link, () => copy(location.href, TEXTS.linkCopied))]),
          ...(ONE_FILE || view.at !== null ? [] : [choiceOf(TEXTS.linkAtTime, () => copy(server + formatView({ ...view, at: isoTime(present()) }), TEXTS.linkCopied))]),
          choiceOf(TEXTS.png, png),
          choiceOf(TEXTS.svg, () => save(`${name}.svg`, new Blob([picture().svg], { type: "image/svg+xml" }))),
          choiceOf(TEXTS.csv, () => shown && save(`${name}.csv`, new Blob([csvOf(shown)], { type: "text/csv" }))),
          ...(ONE_FILE ? [] : [choiceOf(TEXTS.html, () => copy(commandLine(`headwater export ${shellQuoted(view.node)} --format html --output ${name}.html`, PROGRAM, server), TEXTS.commandCopied))]),
          choiceOf(TEXTS.mermaid, () => shown && save(`${name}.mmd`, new Blob([mermaidOf(shown)], { type: "text/plain" }))),
          choiceOf(TEXTS.json, () => shown && graph && save(`${name}.json`, new Blob([jsonOf(shown, graph, view)], { type: "application/json" }))),
        ]}
      >
        <p>
          {TEXTS.about} <code>{TEXTS.command(PROGRAM)}</code>
        </p>
      </Menu>
      <span className="hidden" role="status">
        {copied}
      </span>
      {trouble && <span role="alert">{trouble}</span>}
    </>
  );
}

function choiceOf([text, about]: readonly [string, string], act: () => void): Choice {
  return { text, about, act };
}

/** Return the current colours, icons and text measurements of the page. */
function pens(): Pens {
  const probe = document.createElement("i");
  document.body.append(probe);
  const colours = Object.fromEntries(
    COLOURS.map((colour) => {
      probe.style.color = `var(--${colour})`;
      return [colour, getComputedStyle(probe).color];
    }),
  ) as Pens["colours"];
  const iconOf: Pens["iconOf"] = (node) => {
    const platform = platformOf(node);
    document.body.append(probe);
    probe.style.color = platform.colour;
    const { color: colour } = getComputedStyle(probe);
    probe.remove();
    return { markup: markupOf(platform), colour, isFilled: platform.isFilled };
  };
  probe.remove();
  const context = document.createElement("canvas").getContext("2d");
  const measure: Pens["measure"] = (text, size, isBold) => {
    if (!context) return text.length * size * 0.6;
    context.font = `${isBold ? 600 : 400} ${size}px system-ui, sans-serif`;
    return context.measureText(text).width;
  };
  return { colours, iconOf, measure };
}

async function pngOf(picture: Picture): Promise<Blob> {
  const { svg, width, height } = picture;
  const scale = scaleOf(picture);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("the canvas is too large");
  return blob;
}
