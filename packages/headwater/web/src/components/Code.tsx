import { clsx } from "clsx";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { marked, piecesOf, type Language, type Range } from "../graph/code";
import { Copy } from "./Copy";
import { Icon } from "./Icon";
import { COMPONENTS } from "../strings/components";
import codeStyles from "./code.module.css";
import controls from "./controls.module.css";

const NO_MARKS: readonly Range[] = [];

/** Highlighted code to copy; the first marked part is scrolled into view. */
export function Code({ text, language, marks = NO_MARKS }: { text: string; language: Language; marks?: readonly Range[] }): ReactNode {
  const pieces = useMemo(() => marked(piecesOf(text, language), marks), [text, language, marks]);
  const code = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const first = code.current?.querySelector("mark");
    if (first && code.current) code.current.scrollTop = first.offsetTop - code.current.offsetTop - code.current.clientHeight / 3;
  }, [pieces]);
  const [isWrapped, setWrapped] = useState(false);
  const [isLarge, setLarge] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isLarge) dialog.current?.showModal();
  }, [isLarge]);
  const content = (
    <>
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
      <span className={codeStyles.tools}>
        <Copy text={text} label={COMPONENTS.copy.code[language]} />
        <button type="button" className={clsx(controls.button, controls.bare, controls.square)} aria-pressed={isWrapped} aria-label={COMPONENTS.wrap} title={COMPONENTS.wrap} onClick={() => setWrapped(!isWrapped)}>
          <Icon name="wrap" />
        </button>
        <button type="button" className={clsx(controls.button, controls.bare, controls.square)} aria-label={isLarge ? COMPONENTS.shrink : COMPONENTS.enlarge} title={isLarge ? COMPONENTS.shrink : COMPONENTS.enlarge} onClick={() => setLarge(!isLarge)}>
          <Icon name={isLarge ? "close" : "fit"} />
        </button>
      </span>
    </>
  );
  const style = clsx(codeStyles.command, codeStyles.code, isWrapped && codeStyles.wrapped);
  if (!isLarge) return <div className={style}>{content}</div>;
  return (
    // Escape closes only the dialog.
    <dialog ref={dialog} className={clsx(style, codeStyles.large)} aria-label={COMPONENTS.code[language]} onClose={() => setLarge(false)} onKeyDown={(event) => event.stopPropagation()}>
      {content}
    </dialog>
  );
}
