import { createContext, useContext, useSyncExternalStore } from "react";
import { PRESENT } from "../api/base";

/** Return the present in milliseconds; fixed in the sample. */
export function present(): number {
  return PRESENT ? Date.parse(PRESENT) : Date.now();
}

let now = present();
const listeners = new Set<() => void>();
setInterval(() => {
  now = present();
  for (const listener of listeners) listener();
}, 5_000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The present in milliseconds, kept up to date and rounded down to a multiple of `grain`. */
export function useNow(grain = 1): number {
  return useSyncExternalStore(subscribe, () => Math.floor(now / grain) * grain);
}

/** The time that a graph or page shows, or the id of a run that ended then; null for the present. */
export const ShownTime = createContext<string | null>(null);

/** The shown time in milliseconds; NaN if it is the end of a run. */
export function useShownTime(): number {
  const now = useNow();
  const shown = useContext(ShownTime);
  return shown === null ? now : Date.parse(shown);
}
