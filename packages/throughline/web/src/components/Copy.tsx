import { useEffect, useState, type ReactNode } from "react";
import { BASE, PROGRAM } from "../api/base";
import { commandLine } from "../graph/words";
import { Icon } from "./Icon";

/** A button that copies a text and confirms it; a wide one shows its label. */
export function Copy({ text, label, isWide = false }: { text: string; label: string; isWide?: boolean }): ReactNode {
  const [told, setTold] = useState<"" | "Copied" | "Not copied: the browser does not allow it">("");
  useEffect(() => {
    if (!told) return;
    const timer = setTimeout(() => setTold(""), 1_500);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = () =>
    put(text).then(
      () => setTold("Copied"),
      () => setTold("Not copied: the browser does not allow it"),
    );
  return (
    <button type="button" className={isWide ? "button" : "button bare square"} onClick={() => void copy()} aria-label={label} title={told || label}>
      <Icon name={told === "Copied" ? "done" : "copy"} />
      {isWide && label}
      <span className="hidden" role="status">
        {told}
      </span>
    </button>
  );
}

/** Into the clipboard; the old way where a page in a frame of another site may not use the new one. */
async function put(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hidden";
    document.body.append(field);
    field.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is nothing else in such a frame
    const isDone = document.execCommand("copy");
    field.remove();
    if (!isDone) throw new Error("refused");
  }
}

/** A command line to copy. throughline commands use the server's program name and URL. */
export function Command({ text: given, label = "Copy the command" }: { text: string; label?: string }): ReactNode {
  const text = commandLine(given, PROGRAM, `${location.origin}${BASE}`);
  return (
    <div className="command">
      <pre>{text}</pre>
      <Copy text={text} label={label} />
    </div>
  );
}
