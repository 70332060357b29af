import type { Answer } from "../api/client";
import { duration, moment } from "./words";

export type RunTree = Answer<"runtree">;

/** A run as a bar below its parent run; `left` and `width` are percentages of the total time. */
export interface GanttRow {
  run: RunTree;
  depth: number;
  left: number;
  width: number;
  text: string;
  /** Duration, or duration so far; empty if unknown. */
  took: string;
  /** The run is on the critical path, which is inferred from times. */
  isCritical: boolean;
}

/** Order of child runs: failed ones first, then the slowest; or by start, as in the response. */
export type GanttOrder = "worst" | "start";

export interface Gantt {
  rows: GanttRow[];
  /** Total duration, in milliseconds. */
  length: number;
}

const LEAST_WIDTH = 0.6;

const RANKS = ["FAILED", "ABORTED", "LOST", "RUNNING", "NEW"];

/** Return the bars of a run and its child runs; running ones end at `now`. */
export function ganttOf(root: RunTree, now: number, order: GanttOrder = "worst"): Gantt {
  const critical = criticalOf(root, now);
  const lengthOf = (run: RunTree) => spanOf(run, now)?.reduce((from, to) => to - from) ?? 0;
  const rankOf = ({ state }: RunTree) => (RANKS.includes(state) ? RANKS.indexOf(state) : RANKS.length);
  const sorted = (runs: readonly RunTree[]) => (order === "start" ? [...runs] : runs.toSorted((a, b) => rankOf(a) - rankOf(b) || lengthOf(b) - lengthOf(a)));
  const flat: { run: RunTree; depth: number; span: [number, number] | null }[] = [];
  const open = [{ run: root, depth: 0 }];
  for (let entry = open.pop(); entry; entry = open.pop()) {
    flat.push({ ...entry, span: spanOf(entry.run, now) });
    const { depth } = entry;
    open.push(...sorted(entry.run.children).map((run) => ({ run, depth: depth + 1 })).reverse());
  }
  const spans = flat.map((row) => row.span).filter((span) => span !== null);
  const begin = Math.min(...spans.map(([from]) => from));
  const length = spans.length === 0 ? 0 : Math.max(1, Math.max(...spans.map(([, to]) => to)) - begin);
  const rows = flat.map(({ run, depth, span }) => {
    const [left, width] = span ? [(100 * (span[0] - begin)) / length, (100 * (span[1] - span[0])) / length] : [0, 0];
    return { run, depth, left: Math.min(left, 100 - LEAST_WIDTH), width: span ? Math.max(width, LEAST_WIDTH) : 0, text: textOf(run, span), took: tookOf(run, span), isCritical: critical.has(run) };
  });
  return { rows, length };
}

/** Return the runs on the critical path: of a run's child runs the one that ended last, the last one to end before that one started, and so on; the same below each of these. */
function criticalOf(root: RunTree, now: number): Set<RunTree> {
  const critical = new Set<RunTree>();
  const open = [root];
  for (let run = open.pop(); run; run = open.pop()) {
    const spans = run.children.flatMap((child) => {
      const span = spanOf(child, now);
      return span ? [{ child, span }] : [];
    });
    spans.sort((a, b) => b.span[1] - a.span[1] || b.span[0] - a.span[0]);
    let start = Infinity;
    for (const { child, span } of spans) {
      if (span[1] > start) continue;
      critical.add(child);
      open.push(child);
      start = span[0];
    }
  }
  return critical;
}

/** Return the start and end of a run in milliseconds; null if it has not started. A running one ends at `now`. */
function spanOf(run: RunTree, now: number): [number, number] | null {
  const { startedAt: started, endedAt: ended } = run;
  if (!started) return null;
  const from = Date.parse(started);
  // The end of a stale run is unknown.
  return [from, Math.max(from, ended ? Date.parse(ended) : run.state === "LOST" ? from : now)];
}

function tookOf(run: RunTree, span: [number, number] | null): string {
  return span && run.state !== "LOST" ? duration(span[1] - span[0]) : "";
}

function textOf(run: RunTree, span: [number, number] | null): string {
  if (!span) return `${run.state.toLowerCase()}, no start reported`;
  return `${run.state.toLowerCase()}, from ${moment(new Date(span[0]).toISOString())}, ${tookOf(run, span) || "no end event"}`;
}
