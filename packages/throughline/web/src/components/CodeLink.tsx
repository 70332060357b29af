import type { ReactNode } from "react";
import { codeText, codeUrl, type CodePlace } from "../graph/repository";
import { OutLink } from "./OutLink";

/** A file at its commit, as a link if the host is known. */
export function CodeLink({ code }: { code: CodePlace }): ReactNode {
  const text = codeText(code);
  const href = codeUrl(code);
  if (href && text) return <OutLink href={href}>{text}</OutLink>;
  return (
    <span className="wrap" title={[code.repoUrl, code.version].filter(Boolean).join(" at ")}>
      {text}
    </span>
  );
}
