/** Days and times in UTC, to select a time. */
import { HOUR, isoTime, yesterday } from "./timeline";

const DAY = 24 * HOUR;

/** A day such as `2026-11-24`, and a month such as `2026-11`. */
export type Day = string;
export type Month = string;

export function dayOf(ms: number): Day {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Format the time of day, without seconds if they are zero. */
export function timeOf(at: string): string {
  const time = new Date(at).toISOString().slice(11, 19);
  return time.endsWith(":00") ? time.slice(0, 5) : time;
}

/** Return the weeks of a month from Monday to Sunday, with null for days of other months. */
export function weeksOf(month: Month): (Day | null)[][] {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  const before = (new Date(first).getUTCDay() + 6) % 7;
  const count = Math.round((Date.parse(`${moved(month, 1)}-01T00:00:00Z`) - first) / DAY);
  return Array.from({ length: Math.ceil((before + count) / 7) }, (_, week) =>
    Array.from({ length: 7 }, (_day, weekday) => {
      const nth = 7 * week + weekday - before;
      return nth < 0 || nth >= count ? null : dayOf(first + nth * DAY);
    }),
  );
}

/** Return the month `by` months later. */
export function moved(month: Month, by: number): Month {
  const [year, nth] = month.split("-").map(Number) as [number, number];
  return new Date(Date.UTC(year, nth - 1 + by)).toISOString().slice(0, 7);
}

/** Format a month: November 2026. */
export function monthName(month: Month): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString("en-GB", { timeZone: "UTC", month: "long", year: "numeric" });
}

/** Format a day: 24 November 2026. */
export function dayName(day: Day): string {
  return `${Number(day.slice(8))} ${monthName(day.slice(0, 7))}`;
}

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

/** Return the day that an arrow key selects, or null for another key or a future day. */
export function dayBeside(day: Day, key: string, today: Day): Day | null {
  const step = STEPS[key];
  const next = step === undefined ? null : dayOf(Date.parse(`${day}T00:00:00Z`) + step * DAY);
  return next !== null && next <= today ? next : null;
}

/** Combine a day and a time such as `9:30` or `09:30:15`; return null if the time is invalid. */
export function momentAt(day: Day, time: string): string | null {
  const [, hours, minutes, seconds] = /^\s*(\d{1,2}):(\d\d)(?::(\d\d))?\s*$/.exec(time) ?? [];
  const at = `${day}T${(hours ?? "").padStart(2, "0")}:${minutes ?? ""}:${seconds ?? "00"}Z`;
  return hours !== undefined && !Number.isNaN(Date.parse(at)) && Number(hours) < 24 ? at : null;
}

export type Preset = "hour" | "day" | "yesterday" | "week" | "success";

/** Return common times to select, including the last successful run if there is one. */
export function presetsOf(now: number, success: string | null): { id: Preset; at: string }[] {
  const second = Math.floor(now / 1_000) * 1_000;
  return [
    { id: "hour", at: isoTime(second - HOUR) },
    { id: "day", at: isoTime(second - DAY) },
    { id: "yesterday", at: yesterday(now) },
    { id: "week", at: isoTime(Math.floor(now / DAY) * DAY - 7 * DAY) },
    ...(success === null ? [] : [{ id: "success" as const, at: success }]),
  ];
}
