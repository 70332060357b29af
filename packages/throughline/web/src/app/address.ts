import { useMemo, useSyncExternalStore } from "react";
import { formatView, parseView, type View } from "../graph/view";

const listeners = new Set<() => void>();
window.addEventListener("popstate", tell);

function tell(): void {
  for (const each of listeners) each();
}

function subscribe(each: () => void): () => void {
  listeners.add(each);
  return () => listeners.delete(each);
}

const here = () => location.pathname + location.search;

/** Go to an address of the page; `isSmall` changes leave no step to go back to. */
export function go(address: string, isSmall = false): void {
  if (address === here()) return;
  if (isSmall) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  tell();
}

/** The page's address, kept up to date. */
export function useAddress(): URL {
  const address = useSyncExternalStore(subscribe, here);
  return useMemo(() => new URL(address, location.origin), [address]);
}

/** The view that the address tells, and a way to change it. */
export function useView(): [View, (change: Partial<View>) => void] {
  const { search } = useAddress();
  return useMemo(() => {
    const view = parseView(search);
    return [view, (change) => go(formatView({ ...view, ...change }))];
  }, [search]);
}
