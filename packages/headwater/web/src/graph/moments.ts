import type { Moment } from "./types";
import type { View } from "./view";

export type Times = Pick<View, "at" | "from">;

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

const SHORT = { timeZone: "UTC", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
const THIS_YEAR = new Intl.DateTimeFormat("en-GB", SHORT);
const OTHER_YEAR = new Intl.DateTimeFormat("en-GB", { ...SHORT, year: "numeric" });

/** Format a moment, such as `10 Nov, 14:00 UTC`, with the year if it is another one; return other texts unchanged. */
export function nameOf(moment: Moment, now = Date.now()): string {
  const { from, at } = timesOf(moment);
  if (from === null) return at === null ? "Now" : timeText(at, now);
  return `${timeText(from, now)} to ${at === null ? "now" : timeText(at, now)}`;
}

function timeText(at: string, now: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const isThisYear = date.getUTCFullYear() === new Date(now).getUTCFullYear();
  return `${(isThisYear ? THIS_YEAR : OTHER_YEAR).format(date)} UTC`;
}

/** Return the open moments, now first, including the selected one. */
export function tabsOf(view: View): Moment[] {
  return [...new Set([NOW, ...view.moments, momentOf(view)])];
}

/** Extend a change of the view to keep the previous and the new moment open. */
export function keepMomentsOpen(view: View, change: Partial<View>): Partial<View> {
  const next = { ...view, ...change };
  if (momentOf(next) === momentOf(view) || change.moments) return change;
  const kept = new Set([...view.moments, momentOf(view), momentOf(next)]);
  kept.delete(NOW);
  return { ...change, moments: [...kept].slice(-MOST_TABS), beside: next.beside === momentOf(next) ? null : next.beside };
}

/** Close a moment; if it is selected, show the current graph instead. */
export function closeMoment(view: View, moment: Moment): Partial<View> {
  const moments = view.moments.filter((other) => other !== moment);
  const shown = momentOf(view) === moment ? { at: null, from: null } : {};
  const beside = view.beside === moment || (moment === momentOf(view) && view.beside === NOW) ? null : view.beside;
  return { ...shown, moments, beside };
}

/** Return the two moments shown side by side, the selected one first, or null if there is only one. */
export function pairOf({ at, from, beside }: Pick<View, "at" | "from" | "beside">): Times[] | null {
  return beside === null ? null : [{ at, from }, timesOf(beside)];
}
