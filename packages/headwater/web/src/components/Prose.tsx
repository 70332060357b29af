import { Fragment, type ReactNode } from "react";

/** A reported description: text in backticks is code. */
export function Prose({ text }: { text: string }): ReactNode {
  return text.split(/`([^`\n]+)`/).map((piece, place) => (place % 2 ? <code key={place}>{piece}</code> : <Fragment key={place}>{piece}</Fragment>));
}
