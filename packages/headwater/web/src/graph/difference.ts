import type { Answer } from "../api/client";
import { columnKey, type ColumnKey } from "./lit";
import { columnEdgeKey } from "./merge";
import type { GraphAnswer } from "./types";
import { distinctNames, moment, parts } from "./words";

export type DiffAnswer = Answer<"diff">;
export type Mark = "added" | "removed" | "changed";

/** A changed column, with its current type, or its last one if removed. */
export interface ColumnChange {
  node: string;
  field: string;
  type: string;
  mark: Mark;
}

export interface Difference {
  marks: Map<string, Mark>;
  edges: Map<string, Mark>;
  columns: Map<ColumnKey, ColumnChange>;
  /** Marks by `columnEdgeKey`. */
  columnEdges: Map<string, Mark>;
}

/** The same part of the graph at the later and the earlier time. */
export interface Both {
  now: GraphAnswer;
  then: GraphAnswer;
}

/** Return the marks of nodes and edges in a comparison, and of column edges in the graphs of both times. */
export function marksOf(diff: DiffAnswer, both: Both | null = null): Difference {
  const marks = new Map<string, Mark>();
  for (const change of [...diff.schemas, ...diff.code]) marks.set(change.node, "changed");
  for (const id of diff.added) marks.set(id, "added");
  for (const id of diff.removed) marks.set(id, "removed");
  const edges = new Map<string, Mark>();
  for (const pair of diff.edgesAdded) edges.set(pair.join(" "), "added");
  for (const pair of diff.edgesRemoved) edges.set(pair.join(" "), "removed");
  return { marks, edges, columns: columnsOf(diff), columnEdges: both ? columnEdgesOf(both, marks) : new Map<string, Mark>() };
}

/** Return the changed columns; a column that was removed and added again has another type. Fields are `NAME: TYPE`. */
function columnsOf(diff: DiffAnswer): Map<ColumnKey, ColumnChange> {
  const found = new Map<ColumnKey, ColumnChange>();
  for (const { node, added, removed } of diff.schemas) {
    for (const [mark, fields] of [["removed", removed], ["added", added]] as const) {
      for (const entry of fields) {
        const at = entry.indexOf(": ");
        const [field, type] = at < 0 ? [entry, ""] : [entry.slice(0, at), entry.slice(at + 2)];
        const key = columnKey(node, field);
        found.set(key, { node, field, type, mark: found.has(key) ? "changed" : mark });
      }
    }
  }
  return found;
}

/** Mark column edges that exist at one time only; skip datasets missing from the other graph, unless they were added or removed. */
function columnEdgesOf({ now, then }: Both, marks: ReadonlyMap<string, Mark>): Map<string, Mark> {
  const found = new Map<string, Mark>();
  for (const [mark, own, other] of [["added", now, then], ["removed", then, now]] as const) {
    const otherEdges = new Set(other.columns.map(columnEdgeKey));
    const otherNodes = new Set(other.nodes.map((node) => node.id));
    const isComparable = (id: string) => otherNodes.has(id) || marks.get(id) === mark;
    for (const edge of own.columns) {
      const key = columnEdgeKey(edge);
      if (!otherEdges.has(key) && isComparable(edge.from.id) && isComparable(edge.to.id)) found.set(key, mark);
    }
  }
  return found;
}

export interface Change {
  key: string;
  mark: Mark | "failed";
  node: string;
  /** Kind of the node: table, task, … */
  kind: string;
  /** Failed run. */
  run?: string;
  isSchema?: boolean;
  text: string;
  /** The pipeline of a job; empty if the text contains it. */
  above: string;
  detail: string;
  /** Nodes to show: the two ends of an edge, or the changed node. */
  ends: string[];
}

/** List the changes: nodes, edges, schemas, code, and failed runs between the two times. Edges of added and removed nodes are left out. */
export function changesOf(diff: DiffAnswer): Change[] {
  const jobOf = ({ job }: DiffAnswer["failed"][number]) => `job:${job.namespace}:${job.name}`;
  const listed = Object.entries(diff.nodes as Record<string, { namespace: string; name: string; type: string; kind: string | null }>);
  const failed = diff.failed.map((run): (typeof listed)[number] => [jobOf(run), { ...run.job, type: "job", kind: null }]);
  const nodesById = new Map([...listed, ...failed]);
  const names = distinctNames([...nodesById].map(([id, node]) => ({ id, ...node })));
  const name = (id: string) => names.get(id) ?? id;
  const aboveOf = (id: string, title: string) => {
    const node = nodesById.get(id);
    const above = node?.type === "job" ? parts(node.name, "job").above : "";
    return title.includes(above) ? "" : above;
  };
  const about = (id: string) => ({ node: id, ends: [id], kind: nodesById.get(id)?.kind ?? (id.startsWith("dataset:") ? "table" : diff.level), text: name(id), above: aboveOf(id, name(id)) });
  const nodes = (ids: readonly string[], mark: Mark): Change[] => ids.map((id) => ({ key: `${mark} ${id}`, mark, ...about(id), detail: about(id).kind }));
  const fresh = new Set([...diff.added, ...diff.removed]);
  const edges = (pairs: readonly string[][], mark: Mark): Change[] =>
    pairs
      .filter((pair) => !pair.some((id) => fresh.has(id)))
      .map((pair) => [pair[0] ?? "", pair[1] ?? ""] as const)
      .map(([from, to]) => {
        const isRead = from.startsWith("dataset:");
        const [job, dataset] = isRead ? [to, from] : [from, to];
        const verb = isRead ? "reads" : "writes";
        const detail = mark === "added" ? `now ${verb} ${name(dataset)}` : `no longer ${verb} ${name(dataset)}`;
        return { key: `${mark} ${from} ${to}`, mark, ...about(job), ends: [from, to], detail };
      });
  return [
    ...nodes(diff.added, "added"),
    ...nodes(diff.removed, "removed"),
    ...edges(diff.edgesAdded, "added"),
    ...edges(diff.edgesRemoved, "removed"),
    ...diff.schemas.map((schema) => ({
      key: `schema ${schema.node}`,
      mark: "changed" as const,
      ...about(schema.node),
      isSchema: true,
      detail: [...schema.added.map((field) => `+ ${field}`), ...schema.removed.map((field) => `− ${field}`)].join("\n"),
    })),
    ...diff.code.map((change) => ({
      key: `code ${change.node}`,
      mark: "changed" as const,
      ...about(change.node),
      detail: `code ${(change.from)?.slice(0, 7) ?? "unknown"} → ${(change.to)?.slice(0, 7) ?? "unknown"}`,
    })),
    ...diff.failed.map((run) => ({
      key: `failed ${run.runId}`,
      mark: "failed" as const,
      ...about(jobOf(run)),
      run: run.runId,
      detail: [run.startedAt && moment(run.startedAt), run.error].filter(Boolean).join("\n"),
    })),
  ];
}

/** The changes of one dataset or job. */
export interface ChangeGroup {
  node: string;
  kind: string;
  text: string;
  above: string;
  changes: Change[];
}

/** Group changes by node, datasets before jobs; keep the order of changes within a node. */
export function changeGroups(changes: readonly Change[]): { type: "datasets" | "jobs"; groups: ChangeGroup[] }[] {
  const groups = new Map<string, ChangeGroup>();
  for (const change of changes) {
    const { node, kind, text, above } = change;
    const group = groups.get(node) ?? { node, kind, text, above, changes: [] };
    group.changes.push(change);
    groups.set(node, group);
  }
  const [datasets, jobs] = [true, false].map((isDataset) => [...groups.values()].filter(({ node }) => node.startsWith("dataset:") === isDataset)) as [ChangeGroup[], ChangeGroup[]];
  return [{ type: "datasets" as const, groups: datasets }, { type: "jobs" as const, groups: jobs }].filter((section) => section.groups.length > 0);
}
