let isWanted = false;

/** The graph that is drawn next takes the focus: it was asked for by keyboard. */
export function wantFocus(): void {
  isWanted = true;
}

/** Whether the graph that was just drawn is to take the focus; it is told once. */
export function takesFocus(): boolean {
  const was = isWanted;
  isWanted = false;
  return was;
}

/** Focus what the first selector finds that finds anything. */
export function focusNode(...selectors: string[]): void {
  const found = selectors.map((each) => document.querySelector<HTMLElement>(each)).find((each) => each !== null);
  found?.focus({ preventScroll: true });
}
