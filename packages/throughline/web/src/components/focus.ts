let isWanted = false;

/** Let the next drawn graph take the focus, because it was requested by keyboard. */
export function wantFocus(): void {
  isWanted = true;
}

/** Return once whether the drawn graph takes the focus. */
export function takesFocus(): boolean {
  const was = isWanted;
  isWanted = false;
  return was;
}

/** Focus what the first selector finds that finds anything. */
export function focusNode(...selectors: string[]): void {
  const element = selectors.map((selector) => document.querySelector<HTMLElement>(selector)).find((match) => match !== null);
  element?.focus({ preventScroll: true });
}
