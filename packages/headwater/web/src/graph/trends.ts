/** Trends of a dataset: the rows of its versions, and the results of its checks by run. */
import { resultOf, type AssertionResult } from "./assertion";
import { quantile } from "./durations";

interface Written {
  at: string;
  rows: number | null;
  run: { runId: string };
}

export interface RowsBar {
  runId: string;
  at: string;
  rows: number;
  /** Percentage of the largest number. */
  height: number;
}

export interface RowsTrend {
  /** Oldest version first. */
  bars: RowsBar[];
  medianHeight: number;
  /** Median of the versions before the newest one. */
  median: number;
  /** Difference of the newest version from the median, in percent; null with a median of 0. */
  change: number | null;
}

/** Minimum number of versions before the newest one. */
const LEAST = 2;
/** Number of checks that the matrix shows. */
const MOST_CHECKS = 20;

/** Return the rows of versions, given newest first as in the API; null if fewer than three report them. */
export function rowsTrend(versions: readonly Written[]): RowsTrend | null {
  const counted = versions.flatMap(({ at, rows, run }) => (rows === null ? [] : [{ at, rows, runId: run.runId }])).reverse();
  const newest = counted.at(-1);
  if (!newest || counted.length <= LEAST) return null;
  const median = quantile(counted.slice(0, -1).map(({ rows }) => rows).sort((a, b) => a - b), 0.5);
  const most = Math.max(1, ...counted.map(({ rows }) => rows));
  const bars = counted.map((version) => ({ ...version, height: (100 * version.rows) / most }));
  return { bars, median, medianHeight: (100 * median) / most, change: median === 0 ? null : Math.round((100 * (newest.rows - median)) / median) };
}

interface Checked {
  at: string;
  run: { runId: string } | null;
  assertions: readonly Readonly<Record<string, unknown>>[];
}

export interface CheckMatrix {
  /** Times of the checks, oldest first. */
  times: string[];
  /** A row per assertion, those that failed last first; null if a check did not have it. */
  rows: { name: string; results: (AssertionResult | null)[] }[];
  /** Number of checks that are not shown. */
  hidden: number;
}

/** Return the results of assertions by check, given newest first as in the API; null for a single check. */
export function checkMatrix(checks: readonly Checked[]): CheckMatrix | null {
  const all = checks.filter((check) => check.assertions.length > 0);
  const shown = all.slice(0, MOST_CHECKS).reverse();
  if (shown.length < 2) return null;
  const rows = new Map<string, (AssertionResult | null)[]>();
  shown.forEach(({ assertions }, place) => {
    for (const assertion of assertions) {
      const name = [assertion["assertion"], assertion["column"]].filter(Boolean).join(" ");
      const results = rows.get(name) ?? shown.map(() => null);
      rows.set(name, results);
      const result = resultOf(assertion);
      if (results[place] !== "failed") results[place] = result;
    }
  });
  const lastFailure = (results: (AssertionResult | null)[]) => results.lastIndexOf("failed");
  const sorted = [...rows].map(([name, results]) => ({ name, results })).sort((a, b) => lastFailure(b.results) - lastFailure(a.results));
  return { times: shown.map(({ at }) => at), rows: sorted, hidden: all.length - shown.length };
}
