import type { View } from "./view";

/** What of time is looked at, as one text: `now`, a time, or `FROM~TO` for the difference between two. */
export type Moment = string;
type Times = Pick<View, "at" | "from">;

export const NOW = "now";
const MOST_TABS = 6;

export function momentOf({ at, from }: Times): Moment {
  return from === null ? (at ?? NOW) : `${from}~${at ?? NOW}`;
}

export function timesOf(moment: Moment): Times {
  const [first = NOW, second] = moment.split("~");
  const [from, at] = second === undefined ? [null, first] : [first, second];
  return { from, at: at === NOW ? null : at };
}

const SHORT = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** 10 Nov, 14:00 UTC; or 9 Nov, 14:00 to 10 Nov, 14:00 UTC. */
export function nameOf(moment: Moment): string {
  const { from, at } = timesOf(moment);
  const end = at === null ? "now" : `${said(at)} UTC`;
  if (from === null) return at === null ? "Now" : end;
  return `${said(from)}${at === null ? " UTC" : ""} to ${end}`;
}

function said(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : SHORT.format(date);
}

/** The moments that are open, the present first; the one that is looked at is among them. */
export function tabsOf(view: View): Moment[] {
  return [...new Set([NOW, ...view.moments, momentOf(view)])];
}

/** A change after which the moment before it, and the one that it leads to, are still open. */
export function moving(view: View, change: Partial<View>): Partial<View> {
  const next = { ...view, ...change };
  if (momentOf(next) === momentOf(view) || change.moments) return change;
  const kept = new Set([...view.moments, momentOf(view), momentOf(next)]);
  kept.delete(NOW);
  return { ...change, moments: [...kept].slice(-MOST_TABS), beside: next.beside === momentOf(next) ? null : next.beside };
}

/** Close a moment; if it is looked at, the present is instead. */
export function closing(view: View, moment: Moment): Partial<View> {
  const moments = view.moments.filter((each) => each !== moment);
  const shown = momentOf(view) === moment ? { at: null, from: null } : {};
  const beside = view.beside === moment || (moment === momentOf(view) && view.beside === NOW) ? null : view.beside;
  return { ...shown, moments, beside };
}
