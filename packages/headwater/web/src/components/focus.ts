/** Selectors of the graph's start node and of its highlighted node. */
export const ROOT_NODE = "[data-node][aria-current]";
export const LIT_NODE = "[data-node][aria-pressed=true]";

let isWanted = false;

/** Let the next drawn graph take the focus. */
export function wantFocus(): void {
  isWanted = true;
}

/** Return true once if the drawn graph is to take the focus. */
export function takesFocus(): boolean {
  const result = isWanted;
  isWanted = false;
  return result;
}

/** Focus the first element that matches one of the selectors, in their order. */
export function focusNode(...selectors: string[]): void {
  const element = selectors.map((selector) => document.querySelector<HTMLElement>(selector)).find((match) => match !== null);
  element?.focus({ preventScroll: true });
}
