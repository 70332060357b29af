import { useMemo, useSyncExternalStore } from "react";
import { BASE, ONE_FILE } from "../api/base";
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

/** Return the address of the page; a page that is one file has it after the `#`. */
function currentAddress(): string {
  if (!ONE_FILE) return (location.pathname.slice(BASE.length) || "/") + location.search;
  const address = location.hash.slice(1);
  return address === "" || address === "/" ? ONE_FILE.start : address;
}

/** Return the link to an address of the page. */
export function hrefOf(address: string): string {
  return ONE_FILE ? `#${address}` : BASE + address;
}

/** Go to an address of the page; `isSmall` changes replace the entry in the browser's history. */
export function go(address: string, isSmall = false): void {
  if (address === currentAddress()) return;
  if (isSmall) history.replaceState(null, "", hrefOf(address));
  else history.pushState(null, "", hrefOf(address));
  notify();
}

/** The page's address, kept up to date. */
export function useAddress(): URL {
  const address = useSyncExternalStore(subscribe, currentAddress);
  return useMemo(() => new URL(address, ONE_FILE ? "http://localhost" : location.origin), [address]);
}

let cached = { search: "", view: NEW_VIEW };

function currentView(): View {
  const address = currentAddress();
  const search = address.includes("?") ? address.slice(address.indexOf("?")) : "";
  if (cached.search !== search) cached = { search, view: reuseLists(cached.view, parseView(search)) };
  return cached.view;
}

/** Change a view; `isSmall` changes replace the entry in the browser's history. */
export type Change = (change: Partial<View>, isSmall?: boolean) => void;

/** The view in the address, and a function to change it. */
export function useView(): [View, Change] {
  const view = useSyncExternalStore(subscribe, currentView);
  return useMemo(() => [view, (change, isSmall) => go(formatView({ ...view, ...change }), isSmall)], [view]);
}
