/** Read a preference of this browser; one stored by throughline, headwater's former name, still counts. */
export function readStored(name: string): string | null {
  return localStorage.getItem(`headwater-${name}`) ?? localStorage.getItem(`throughline-${name}`);
}

export function writeStored(name: string, value: string): void {
  localStorage.setItem(`headwater-${name}`, value);
}
