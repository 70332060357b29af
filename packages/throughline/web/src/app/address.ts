import { useMemo, useSyncExternalStore } from "react";
import { BASE } from "../api/base";
import { formatView, keeping, NEW_VIEW, parseView, type View } from "../graph/view";

const listeners = new Set<() => void>();
window.addEventListener("popstate", tell);

function tell(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const here = () => (location.pathname.slice(BASE.length) || "/") + location.search;

/** Go to an address of the page; `isSmall` changes leave no step to go back to. */
export function go(address: string, isSmall = false): void {
  if (address === here()) return;
  if (isSmall) history.replaceState(null, "", BASE + address);
  else history.pushState(null, "", BASE + address);
  tell();
}

/** The page's address, kept up to date. */
export function useAddress(): URL {
  const address = useSyncExternalStore(subscribe, here);
  return useMemo(() => new URL(address, location.origin), [address]);
}

let seen = { search: "", view: NEW_VIEW };

function viewHere(): View {
  if (seen.search !== location.search) seen = { search: location.search, view: keeping(seen.view, parseView(location.search)) };
  return seen.view;
}

/** Change a view; `isSmall` changes leave no step to go back to. */
export type Change = (change: Partial<View>, isSmall?: boolean) => void;

/** The view in the address, and a function to change it. */
export function useView(): [View, Change] {
  const view = useSyncExternalStore(subscribe, viewHere);
  return useMemo(() => [view, (change, isSmall) => go(formatView({ ...view, ...change }), isSmall)], [view]);
}
