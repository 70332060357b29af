import { useMemo, useSyncExternalStore } from "react";
import { BASE } from "../api/base";
import { formatView, reuseLists, NEW_VIEW, parseView, type View } from "../graph/view";

const listeners = new Set<() => void>();
window.addEventListener("popstate", notify);

function notify(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const currentAddress = () => (location.pathname.slice(BASE.length) || "/") + location.search;

/** Go to an address of the page; `isSmall` changes replace the entry in the browser's history. */
export function go(address: string, isSmall = false): void {
  if (address === currentAddress()) return;
  if (isSmall) history.replaceState(null, "", BASE + address);
  else history.pushState(null, "", BASE + address);
  notify();
}

/** The page's address, kept up to date. */
export function useAddress(): URL {
  const address = useSyncExternalStore(subscribe, currentAddress);
  return useMemo(() => new URL(address, location.origin), [address]);
}

let cached = { search: "", view: NEW_VIEW };

function currentView(): View {
  if (cached.search !== location.search) cached = { search: location.search, view: reuseLists(cached.view, parseView(location.search)) };
  return cached.view;
}

/** Change a view; `isSmall` changes replace the entry in the browser's history. */
export type Change = (change: Partial<View>, isSmall?: boolean) => void;

/** The view in the address, and a function to change it. */
export function useView(): [View, Change] {
  const view = useSyncExternalStore(subscribe, currentView);
  return useMemo(() => [view, (change, isSmall) => go(formatView({ ...view, ...change }), isSmall)], [view]);
}
