/** The subjects of an OpenLineage event, which determine the answers that it can change. */
export interface Topics {
  runId: string | undefined;
  /** Ids of its run and its parent runs. */
  runs: readonly string[];
  /** Last parts of all names of jobs and datasets: a dataset may have several names. */
  names: readonly string[];
  /** False if it only reports that a run is still running. */
  isChange: boolean;
}

interface Cached {
  key: readonly unknown[];
  data: unknown;
}

type Rule = (topics: Topics, cached: Cached) => boolean;

const isRun: Rule = ({ runId }) => runId !== undefined;
const isOfRun: Rule = ({ runId }, { key }) => runId === key[1];
const isChange: Rule = (topics) => topics.isChange;

/** Rules by query: true if an event can change its answer. All other queries are refetched. */
const RULES: Readonly<Record<string, Rule>> = {
  events: isOfRun,
  run: isRun,
  runs: isRun,
  pipelines: isRun,
  runtree: isRun,
  search: isChange,
  newest: isChange,
  diff: isChange,
  "completeness/pipelines": isChange,
};

/** Queries about one node; their answers name everything that they depend on. */
const OF_NODES: ReadonlySet<unknown> = new Set(["graph", "node", "column", "history", "impact", "provenance", "timeline", "tree"]);

export function topicsOf(event: Record<string, unknown>): Topics {
  const run = event["run"] as { runId?: string; facets?: unknown } | undefined;
  const names = new Set<string>();
  const runs = new Set<string>();
  collect(event, names, runs);
  const hasNoDatasets = [event["inputs"], event["outputs"]].every((datasets) => !Array.isArray(datasets) || datasets.length === 0);
  return { runId: run?.runId, runs: [...runs], names: [...names], isChange: !(hasNoDatasets && (event["eventType"] === "RUNNING" || event["eventType"] === "OTHER")) };
}

/** Collect names next to a namespace, as jobs and datasets have them everywhere in an event, and ids of runs. */
function collect(value: unknown, names: Set<string>, runs: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  const { namespace, name, runId } = value as Record<string, unknown>;
  if (typeof namespace === "string" && typeof name === "string") names.add(lastPart(name));
  if (typeof runId === "string") runs.add(runId);
  for (const child of Object.values(value)) collect(child, names, runs);
}

function lastPart(name: string): string {
  return name.split(/[./:]/).findLast((part) => part !== "") ?? name;
}

/**
 * Return true if an event can change an answer.
 *
 * `related` are runs with earlier events that could change an answer about a node: their later
 * events may name nothing that the answer contains. The function adds runs to it.
 */
export function canChange(events: readonly Topics[], cached: Cached, related: Set<string>): boolean {
  const rule = RULES[String(cached.key[0])];
  if (rule) return events.some((event) => rule(event, cached));
  if (!OF_NODES.has(cached.key[0]) || cached.data === undefined) return events.length > 0;
  const text = JSON.stringify([cached.key, cached.data]);
  const contains = (name: string) => text.includes(JSON.stringify(name).slice(1, -1));
  const matching = events.filter((event) => event.isChange && (event.runs.some((run) => related.has(run)) || event.names.some(contains)));
  for (const { runs } of matching) for (const run of runs) related.add(run);
  return matching.length > 0;
}
