import type { ReactNode } from "react";
import { codeText, codeUrl, type CodePlace } from "../graph/repository";
import { OutLink } from "./OutLink";
import { COMPONENTS } from "../strings/components";

/** A file at its commit, as a link if the host is known. */
export function CodeLink({ code }: { code: CodePlace }): ReactNode {
  const text = codeText(code);
  const href = codeUrl(code);
  if (href && text) return <OutLink href={href}>{text}</OutLink>;
  return (
    <span className="wrap" title={COMPONENTS.version(code.repoUrl ?? "", code.version ?? "")}>
      {text}
    </span>
  );
}
