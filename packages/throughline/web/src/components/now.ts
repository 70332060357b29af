import { useSyncExternalStore } from "react";
import { PRESENT } from "../api/base";

/** The present in milliseconds: in the sample always the same. */
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

/** The present in milliseconds, kept up to date; `grain` is how coarse it needs to be. */
export function useNow(grain = 1): number {
  return useSyncExternalStore(subscribe, () => Math.floor(now / grain) * grain);
}
