import type { Answer } from "../api/client";
import { moment, parts, plural } from "./words";

export type TimelineAnswer = Answer<"timeline">;
export type TimeChange = TimelineAnswer["changes"][number];
/** The ranges to choose from. */
export type Choice = "day" | "week" | "month" | "all";
/** A range; `auto` begins at the first run, at most 30 days ago. */
export type Range = Choice | "auto";

export const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MONTH = 30 * DAY;
export const RANGES: Record<Choice, { text: string; ms: number | null }> = {
  day: { text: "24 h", ms: DAY },
  week: { text: "7 d", ms: 7 * DAY },
  month: { text: "30 d", ms: MONTH },
  all: { text: "All", ms: null },
};

/** Return the start of a range, to the hour, so that repeated queries are equal. */
export function beginOf(range: Range, now: number): string | null {
  const { ms } = RANGES[range === "auto" ? "month" : range];
  return ms === null ? null : isoTime(hourOf(now - ms));
}

/** Return the choice that `auto` stands for, from a response about 30 days: `month` if there may be older runs, else `all`. */
export function rangeOf({ from }: TimelineAnswer, now: number): Choice {
  return Date.parse(from) > hourOf(now - MONTH) ? "all" : "month";
}

function hourOf(at: number): number {
  return Math.floor(at / HOUR) * HOUR;
}

/** Return the start of yesterday in UTC. */
export function yesterday(now: number): string {
  return isoTime((Math.floor(now / DAY) - 1) * DAY);
}

/** Format a time as in the API. */
export function isoTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Extend a response to the selected range, whose beginning may have no runs. */
export function onAxis(answer: TimelineAnswer, range: Range, now: number): TimelineAnswer {
  const from = beginOf(range, now);
  return from === null ? answer : { ...answer, from };
}

/** A time axis from left to right; positions on it are percentages. */
export interface Line {
  from: number;
  to: number;
}

export function lineOf({ from, to }: { from: string; to: string }): Line {
  return { from: Date.parse(from), to: Date.parse(to) };
}

export function placeOf(line: Line, at: string): number {
  const share = (Date.parse(at) - line.from) / Math.max(1, line.to - line.from);
  return 100 * Math.min(1, Math.max(0, share));
}

/** Return the time at a position, to the second. */
export function timeAt(line: Line, place: number): string {
  return isoTime(line.from + (place / 100) * (line.to - line.from));
}

export interface Bar {
  from: string;
  /** Time at which all of its runs had ended. */
  at: string;
  left: number;
  width: number;
  /** Percentage of the highest bar. */
  height: number;
  groups: { name: Group; share: number }[];
  text: string;
}

const GROUPS = ["failed", "lost", "running", "completed"] as const;
export type Group = (typeof GROUPS)[number];

/** Return runs as bars; the text lists failures first. */
export function barsOf(answer: TimelineAnswer): Bar[] {
  const line = lineOf(answer);
  const total = (run: TimelineAnswer["runs"][number]) => GROUPS.reduce((sum, group) => sum + run[group], 0);
  const most = Math.max(1, ...answer.runs.map(total));
  return answer.runs.map((run) => {
    const [left, count] = [placeOf(line, run.from), total(run)];
    const groups = GROUPS.filter((name) => run[name] > 0);
    return {
      from: run.from,
      at: run.at,
      left,
      width: placeOf(line, run.to) - left,
      height: (100 * count) / most,
      groups: groups.map((name) => ({ name, share: (100 * run[name]) / count })),
      text: `${moment(run.from).slice(0, 16)} to ${moment(run.to).slice(0, 16)} UTC: ${groups.map((name) => `${run[name].toLocaleString("en")} ${name}`).join(", ")}`,
    };
  });
}

/** Return the nodes of a mark's first change: the two ends of an edge, or the changed node. */
export function endsOf({ changes }: Pick<Mark, "changes">): string[] {
  return changes.slice(0, 1).flatMap(({ node, other }) => (other === null ? [node] : [node, other]));
}

export type Tone = "came" | "gone" | "changed" | "failed" | "new";

/** Changes too close together to be shown separately. */
export interface Mark {
  at: string;
  before: string;
  place: number;
  tone: Tone;
  changes: TimeChange[];
  text: string;
  /** Short text beside the mark if there is room; on the left if `isAtEnd`. */
  label: string | null;
  isAtEnd: boolean;
  /** Distance to the next mark on that side, as a percentage of the axis. */
  room: number;
}

const NEAR = 1.6;
const LEAST_ROOM = 10;
const END = 75;
const RANKS = ["input", "output", "failed", "schema", "code", "node"];
const rank = (change: TimeChange) => RANKS.indexOf(change.kind);

export function toneOf(change: TimeChange): Tone {
  if (change.isGone) return "gone";
  if (change.kind === "input" || change.kind === "output") return "came";
  if (change.kind === "failed") return "failed";
  return change.kind === "node" ? "new" : "changed";
}

/**
 * Return the marks on the axis, oldest first; added and removed edges have a label if there is room.
 *
 * Changes nearer than 1.6 % of the axis are one mark. Near the right end, a label is on the left of its mark, up to the previous mark.
 */
export function marksOn(answer: TimelineAnswer): Mark[] {
  const line = lineOf(answer);
  const groups: { place: number; changes: TimeChange[] }[] = [];
  for (const change of [...answer.changes].reverse()) {
    const place = placeOf(line, change.at);
    const last = groups.at(-1);
    if (last && place - last.place < NEAR) last.changes.push(change);
    else groups.push({ place, changes: [change] });
  }
  let hasLabelBefore = false;
  return groups.map(({ place, changes }, nth) => {
    const ranked = changes.toSorted((a, b) => rank(a) - rank(b));
    const [first] = ranked as [TimeChange];
    const isAtEnd = place > END;
    const room = isAtEnd ? place - (hasLabelBefore ? place : (groups[nth - 1]?.place ?? 0)) : (groups[nth + 1]?.place ?? 100) - place;
    const hasLabel = (first.kind === "input" || first.kind === "output") && room >= LEAST_ROOM;
    hasLabelBefore = hasLabel && !isAtEnd;
    const [before, at] = [minimum(changes.map((change) => change.before)), minimum(changes.map((change) => change.at), -1)];
    const text = `${moment(at).slice(0, 16)} UTC: ${summary(ranked, answer)}`;
    return { at, before, place, tone: toneOf(first), changes: ranked, text, label: hasLabel ? edgeLabel(first, answer) : null, isAtEnd, room };
  });
}

/** Return the earliest of some times; with `sign` -1, the latest. */
function minimum(times: readonly string[], sign = 1): string {
  return times.reduce((a, b) => (sign * (Date.parse(a) - Date.parse(b)) <= 0 ? a : b));
}

/** Describe at most two changes and count the rest; several new nodes are only counted. */
function summary(ranked: readonly TimeChange[], answer: TimelineAnswer): string {
  const fresh = ranked.filter((change) => change.kind === "node");
  const others = ranked.filter((change) => change.kind !== "node");
  const shown = others.slice(0, 2).map((change) => sentence(change, answer.nodes));
  if (others.length > 2) shown.push(`${others.length - 2} more`);
  if (fresh.length > 1) shown.push(plural(fresh.length, "new node"));
  else shown.push(...fresh.map((change) => sentence(change, answer.nodes)));
  return shown.join("; ");
}

/** Return the last part of a node's name. */
export function titleOf(nodes: TimelineAnswer["nodes"], id: string | null): string {
  const node = (nodes as Record<string, { name: string; type: string } | undefined>)[id ?? ""];
  return node ? parts(node.name, node.type === "job" ? "job" : "dataset").title : (id ?? "");
}

function edgeLabel(change: TimeChange, answer: TimelineAnswer): string {
  const [job, dataset] = [titleOf(answer.nodes, change.node), titleOf(answer.nodes, change.other)];
  return change.kind === "input" ? `${dataset} → ${job}` : `${job} → ${dataset}`;
}

/** Describe a change: weather became an input of prepare. */
export function sentence(change: TimeChange, nodes: TimelineAnswer["nodes"]): string {
  const [name, other] = [titleOf(nodes, change.node), titleOf(nodes, change.other)];
  switch (change.kind) {
    case "input":
    case "output":
      return `${other} ${change.isGone ? "is no longer" : "became"} an ${change.kind} of ${name}`;
    case "node":
      return change.other ? `${name} is new, first used by ${other}` : `${name} is new`;
    case "schema":
      return `${name}: ${change.detail.join(", ")}`;
    case "code":
      return `${name}: code ${change.detail.map((commit) => commit.slice(0, 7)).join(" → ") || "changed without a new commit"}`;
    default:
      return `${name} failed${change.detail[0] ? `: ${change.detail[0].replace(/\n[^]*/, "")}` : ""}`;
  }
}

const MINUTES = [1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000);
const HOURS = [1, 2, 3, 6, 12, 24, 48, 7 * 24, 14 * 24, 28 * 24, 91 * 24, 365 * 24].map((hours) => hours * HOUR);
const MOST_TICKS = 8;

/** Return the tick labels of the axis, in UTC, at most about eight. */
export function ticksOf(line: Line): { place: number; text: string }[] {
  const step = [...MINUTES, ...HOURS].find((candidate) => (line.to - line.from) / candidate <= MOST_TICKS) ?? 3650 * DAY;
  const first = Math.ceil(line.from / step) * step;
  const count = Math.max(0, Math.floor((line.to - first) / step) + 1);
  return Array.from({ length: count }, (_, nth) => {
    const date = new Date(first + nth * step);
    const day = date.toLocaleDateString("en-GB", { timeZone: "UTC", day: "numeric", month: "short", ...(step >= 91 * DAY ? { year: "numeric" } : {}) });
    const isMidnight = (first + nth * step) % DAY === 0;
    return { place: placeOf(line, date.toISOString()), text: isMidnight ? day : date.toISOString().slice(11, 16) };
  });
}
