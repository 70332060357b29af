import { useEffect, useState, type ReactNode } from "react";
import { BASE, ONE_FILE, PROGRAM } from "../../api/base";
import { save } from "../../api/save";
import { writeToClipboard } from "../../components/Copy";
import { present } from "../../components/now";
import { Menu, type Choice } from "../../components/Menu";
import { isoTime } from "../../graph/timeline";
import { formatView, type View } from "../../graph/view";
import { commandLine, moment, shellQuoted } from "../../graph/words";
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
  /** Save a picture of the whole graph; its code is loaded now, because few need it. */
  const savePicture = async (kind: "png" | "svg") => {
    const { drawGraph, pngOf } = await import("./picture/Picture");
    const title = view.node.slice(view.node.lastIndexOf(":") + 1);
    const when = [view.from, view.at ?? now].filter((at) => at !== null).map(moment);
    const drawing = await drawGraph(drawn, title, TEXTS.caption(view.level, TEXTS.times(when), drawn.nodes.length));
    save(`${name}.${kind}`, kind === "svg" ? new Blob([drawing.svg], { type: "image/svg+xml" }) : await pngOf(drawing));
  };
  const picture = (kind: "png" | "svg") => {
    setTrouble("");
    savePicture(kind).catch(() => setTrouble(kind === "png" ? TEXTS.tooLarge : TEXTS.noDrawing));
  };
  const copy = (text: string, message: string) =>
    void writeToClipboard(text).then(
      () => setCopied(message),
      () => setTrouble(COMPONENTS.copy.failed),
    );
  const server = location.origin + BASE;
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
          choiceOf(TEXTS.png, () => picture("png")),
          choiceOf(TEXTS.svg, () => picture("svg")),
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
