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
  for (const each of listeners) each();
}, 5_000);

function subscribe(each: () => void): () => void {
  listeners.add(each);
  return () => listeners.delete(each);
}

/** The present in milliseconds, kept up to date; `grain` is how coarse it needs to be. */
export function useNow(grain = 1): number {
  return useSyncExternalStore(subscribe, () => Math.floor(now / grain) * grain);
}
