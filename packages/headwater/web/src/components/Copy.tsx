import { clsx } from "clsx";
import { useEffect, useState, type ReactNode } from "react";
import { BASE, PROGRAM } from "../api/base";
import { commandLine } from "../graph/words";
import { Icon } from "./Icon";
import { COMPONENTS } from "../strings/components";
import codeStyles from "./code.module.css";
import controls from "./controls.module.css";

const TEXTS = COMPONENTS.copy;

/** A button that copies a text and confirms it; a wide one shows its label. */
export function Copy({ text, label, isWide = false }: { text: string; label: string; isWide?: boolean }): ReactNode {
  const [message, setMessage] = useState("");
  useEffect(() => {
    if (!message) return;
    const timer = setTimeout(() => setMessage(""), 1_500);
    return () => clearTimeout(timer);
  }, [message]);
  const copy = () =>
    writeToClipboard(text).then(
      () => setMessage(TEXTS.done),
      () => setMessage(TEXTS.failed),
    );
  return (
    <button type="button" className={clsx(controls.button, !isWide && [controls.bare, controls.square])} onClick={() => void copy()} aria-label={label} title={message || label}>
      <Icon name={message === TEXTS.done ? "done" : "copy"} />
      {isWide && label}
      <span className="hidden" role="status">
        {message}
      </span>
    </button>
  );
}

/** Write a text to the clipboard. Falls back to execCommand in cross-origin frames, where the Clipboard API may be blocked. */
export async function writeToClipboard(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hidden";
    document.body.append(field);
    field.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way in such a frame
    const isDone = document.execCommand("copy");
    field.remove();
    if (!isDone) throw new Error("refused");
  }
}

/** A command line to copy. headwater commands use the server's program name and URL. */
export function Command({ text: given, label = TEXTS.command }: { text: string; label?: string }): ReactNode {
  const text = commandLine(given, PROGRAM, `${location.origin}${BASE}`);
  return (
    <div className={codeStyles.command}>
      <pre>{text}</pre>
      <Copy text={text} label={label} />
    </div>
  );
}
