import { useMemo, type ReactNode } from "react";
import { piecesOf } from "../graph/code";
import { Copy } from "./Copy";

/** Highlighted code to copy. */
export function Code({ text, language }: { text: string; language: "sql" | "python" }): ReactNode {
  const pieces = useMemo(() => piecesOf(text, language), [text, language]);
  return (
    <div className="command code">
      <pre tabIndex={0} role="region" aria-label={language === "sql" ? "SQL" : "Code"}>
        {pieces.map((piece, place) => (
          <span key={place} className={`code-${piece.kind}`}>
            {piece.text}
          </span>
        ))}
      </pre>
      <Copy text={text} label={language === "sql" ? "Copy the SQL" : "Copy the code"} />
    </div>
  );
}
