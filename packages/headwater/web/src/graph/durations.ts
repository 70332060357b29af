/** Durations of a job's runs: the median, and unusually long or short runs. */

interface TimedRun {
  runId: string;
  state: string;
  startedAt: string | null;
  durationMs: number | null;
}

export interface DurationBar {
  runId: string;
  /** Percentage of the longest duration. */
  height: number;
  isFailed: boolean;
  isOutlier: boolean;
  durationMs: number;
  startedAt: string;
}

export interface Durations {
  /** Oldest run first. */
  bars: DurationBar[];
  /** Median of the completed runs, in milliseconds. */
  median: number;
  medianHeight: number;
  outliers: ReadonlySet<string>;
}

/** Minimum number of completed runs for outliers. */
const LEAST = 5;
/** Tukey's fences: distance from the quartiles, in interquartile ranges. */
const FENCE = 1.5;
/** Minimum distance of the fences from the quartiles, as a share of the median. */
const LEAST_SHARE = 0.1;

/** Return the durations of ended runs, given newest first as in the API; null if fewer than two completed. */
export function durationsOf(runs: readonly TimedRun[]): Durations | null {
  const timed = runs.flatMap(({ runId, state, startedAt, durationMs }) => (durationMs === null || startedAt === null ? [] : [{ runId, durationMs, startedAt, isDone: state === "COMPLETED" }])).reverse();
  const done = timed.filter((run) => run.isDone).map((run) => run.durationMs).sort((a, b) => a - b);
  if (done.length < 2) return null;
  const [low, median, high] = [0.25, 0.5, 0.75].map((share) => quantile(done, share)) as [number, number, number];
  const fence = Math.max(FENCE * (high - low), LEAST_SHARE * median);
  const outliers = new Set(timed.filter(({ isDone, durationMs }) => done.length >= LEAST && isDone && (durationMs < low - fence || durationMs > high + fence)).map((run) => run.runId));
  const most = Math.max(1, ...timed.map((run) => run.durationMs));
  const bars = timed.map(({ isDone, ...run }) => ({ ...run, height: (100 * run.durationMs) / most, isFailed: !isDone, isOutlier: outliers.has(run.runId) }));
  return { bars, median, medianHeight: (100 * median) / most, outliers };
}

/** Return a quantile of sorted numbers by linear interpolation. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [below, above] = [Math.floor(at), Math.ceil(at)].map((place) => sorted[place]) as [number, number];
  return below + (above - below) * (at - Math.floor(at));
}
