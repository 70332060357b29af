import { useSyncExternalStore, type ReactNode } from "react";
import { ago, moment } from "../graph/words";

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

/** How long ago something was, kept up to date; the exact moment on hovering. */
export function Ago({ at }: { at: string | null }): ReactNode {
  const seen = useSyncExternalStore(subscribe, () => now);
  if (at === null) return <span className="muted">unknown</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, seen)}
    </time>
  );
}
