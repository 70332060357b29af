import { useSyncExternalStore } from "react";

let now = Date.now();
const listeners = new Set<() => void>();
setInterval(() => {
  now = Date.now();
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
