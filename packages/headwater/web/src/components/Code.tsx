import { clsx } from "clsx";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { marked, piecesOf, type Language, type Range } from "../graph/code";
import { Copy } from "./Copy";
import { COMPONENTS } from "../strings/components";
import codeStyles from "./code.module.css";

const NO_MARKS: readonly Range[] = [];

/** Highlighted code to copy; the first marked part is scrolled into view. */
export function Code({ text, language, marks = NO_MARKS }: { text: string; language: Language; marks?: readonly Range[] }): ReactNode {
  const pieces = useMemo(() => marked(piecesOf(text, language), marks), [text, language, marks]);
  const code = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const first = code.current?.querySelector("mark");
    if (first && code.current) code.current.scrollTop = first.offsetTop - code.current.offsetTop - code.current.clientHeight / 3;
  }, [pieces]);
  return (
    <div className={clsx(codeStyles.command, codeStyles.code)}>
      <pre ref={code} tabIndex={0} role="region" aria-label={COMPONENTS.code[language]}>
        {pieces.map((piece, place) => {
          const Element = piece.isMarked ? "mark" : "span";
          return (
            <Element key={place} className={codeStyles[`code-${piece.kind}`]}>
              {piece.text}
            </Element>
          );
        })}
      </pre>
      <Copy text={text} label={COMPONENTS.copy.code[language]} />
    </div>
  );
}
