/** Small graphs for tests: in `a>j` job `j` reads dataset `a`, in `j>b` it writes `b`. */
import type { ColumnEdge, GraphAnswer, NodeId, ApiNode } from "../graph/types";
import { NEW_VIEW, type View } from "../graph/view";

/** A view with one step on each side. */
export const NEAR: View = { ...NEW_VIEW, up: 1, down: 1 };

const isJob = (name: string) => name.startsWith("j");
export const id = (name: string) => `${isJob(name) ? "job" : "dataset"}:n:${name}` as NodeId;

/** Build a graph response around a node: names with `j` are jobs, `~` is a control edge. */
export function answer(root: string, ...edges: string[]): GraphAnswer {
  const pairs = edges.map((edge) => ({ ends: edge.split(/[>~]/) as [string, string], kind: edge.includes("~") ? ("control" as const) : ("data" as const) }));
  const names = [...new Set([root, ...pairs.flatMap((pair) => pair.ends)])];
  const data = pairs.filter((pair) => pair.kind === "data");
  return {
    node: id(root),
    level: "task",
    roots: [id(root)],
    reach: { up: 0, down: 0 },
    left: { jobs: 0 },
    nodes: names.map((name) =>
      apiNode(name, data.filter((pair) => pair.ends[1] === name).length, data.filter((pair) => pair.ends[0] === name).length),
    ),
    edges: pairs.map(({ ends: [from, to], kind }) => ({ from: id(from), to: id(to), kind, grade: null })),
    sources: [],
    columns: [],
  };
}

export function apiNode(name: string, up = 0, down = 0): ApiNode {
  return {
    id: id(name), type: isJob(name) ? "job" : "dataset", namespace: "n", name, kind: isJob(name) ? "task" : "table",
    owners: [], tags: [], health: { state: "healthy", message: "completed", at: null, by: [] }, removal: null, integration: null, platform: null, run: null, aliases: [], version: null, writtenAt: null, rows: null,
    failedChecks: null, up, down, isControlOnly: false, pipeline: null, pipelineHealth: null, fields: [],
  }; // prettier-ignore
}

export function column(from: string, to: string, how = "IDENTITY"): ColumnEdge {
  const end = (text: string) => ({ id: id(text.split(".")[0] ?? ""), field: text.split(".")[1] ?? "" });
  return { from: end(from), to: end(to), how, isDirect: true };
}
