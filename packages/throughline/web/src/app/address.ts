import { useMemo, useSyncExternalStore } from "react";
import { BASE, EMBEDDED } from "../api/base";
import { formatView, keeping, NEW_VIEW, parseView, type View } from "../graph/view";

const listeners = new Set<() => void>();
window.addEventListener("popstate", tell);

function tell(): void {
  for (const each of listeners) each();
}

function subscribe(each: () => void): () => void {
  listeners.add(each);
  return () => listeners.delete(each);
}

/** The address of the page; that of a page which is one file is behind its `#`. */
function here(): string {
  if (!EMBEDDED) return (location.pathname.slice(BASE.length) || "/") + location.search;
  const address = location.hash.slice(1);
  return address === "" || address === "/" ? EMBEDDED.start : address;
}

/** The link to an address of the page. */
export function hrefOf(address: string): string {
  return EMBEDDED ? `#${address}` : BASE + address;
}

/** Go to an address of the page; `isSmall` changes leave no step to go back to. */
export function go(address: string, isSmall = false): void {
  if (address === here()) return;
  if (isSmall) history.replaceState(null, "", hrefOf(address));
  else history.pushState(null, "", hrefOf(address));
  tell();
}

/** The page's address, kept up to date. */
export function useAddress(): URL {
  const address = useSyncExternalStore(subscribe, here);
  return useMemo(() => new URL(address, EMBEDDED ? "http://localhost" : location.origin), [address]);
}

let seen = { search: "", view: NEW_VIEW };

function viewHere(): View {
  const address = here();
  const search = address.includes("?") ? address.slice(address.indexOf("?")) : "";
  if (seen.search !== search) seen = { search, view: keeping(seen.view, parseView(search)) };
  return seen.view;
}

/** Change a view; `isSmall` changes leave no step to go back to. */
export type Change = (change: Partial<View>, isSmall?: boolean) => void;

/** The view in the address, and a function to change it. */
export function useView(): [View, Change] {
  const view = useSyncExternalStore(subscribe, viewHere);
  return useMemo(() => [view, (change, isSmall) => go(formatView({ ...view, ...change }), isSmall)], [view]);
}
