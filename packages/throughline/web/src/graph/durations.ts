/** The durations of a job's runs: their median, and runs that took unusually long or short. */

interface TimedRun {
  runId: string;
  state: string;
  startedAt: string | null;
  durationMs: number | null;
}

export interface DurationBar {
  runId: string;
  /** Of the longest run, in shares of 100. */
  height: number;
  isFailed: boolean;
  isOutlier: boolean;
  durationMs: number;
  startedAt: string;
}

export interface Durations {
  /** The oldest first. */
  bars: DurationBar[];
  /** Of the completed runs. */
  median: number;
  medianHeight: number;
  outliers: ReadonlySet<string>;
}

/** Fewer completed runs have no outliers. */
const LEAST = 5;
/** Tukey's fences: so many times the range of the middle half away from it. */
const FENCE = 1.5;
/** Runs that all take about as long as the median have no outliers within this share of it. */
const LEAST_SHARE = 0.1;

/** The durations of runs that ended (the newest first, as the API lists them); null if fewer than two did. */
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

/** A quantile of sorted numbers, between the nearest two. */
function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [below, above] = [Math.floor(at), Math.ceil(at)].map((place) => sorted[place]) as [number, number];
  return below + (above - below) * (at - Math.floor(at));
}
