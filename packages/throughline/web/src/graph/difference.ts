import type { Answer } from "../api/client";
import { parts } from "./words";

export type DiffAnswer = Answer<"diff">;
export type Mark = "added" | "removed" | "changed";

export interface Difference {
  marks: Map<string, Mark>;
  edges: Map<string, Mark>;
}

/** What a comparison says of each node and edge. */
export function marksOf(told: DiffAnswer): Difference {
  const marks = new Map<string, Mark>();
  for (const each of [...told.schemas, ...told.code]) marks.set(each.node, "changed");
  for (const id of told.added) marks.set(id, "added");
  for (const id of told.removed) marks.set(id, "removed");
  const edges = new Map<string, Mark>();
  for (const pair of told.edgesAdded) edges.set(pair.join(" "), "added");
  for (const pair of told.edgesRemoved) edges.set(pair.join(" "), "removed");
  return { marks, edges };
}

export interface Change {
  key: string;
  mark: Mark | "failed";
  node: string;
  /** The run that failed. */
  run?: string;
  text: string;
  detail: string;
}

/** The same as a list: nodes, edges, what is inside of nodes, and runs that failed in between. */
export function changesOf(told: DiffAnswer): Change[] {
  const named = told.nodes as Record<string, { name: string; type: string } | undefined>;
  const name = (id: string) => {
    const node = named[id];
    return node ? parts(node.name, node.type === "job" ? "job" : "dataset").title : id;
  };
  const nodes = (ids: readonly string[], mark: Mark): Change[] =>
    ids.map((id) => ({ key: `${mark} ${id}`, mark, node: id, text: name(id), detail: named[id]?.type ?? "" }));
  const fresh = new Set([...told.added, ...told.removed]);
  const edges = (pairs: readonly string[][], mark: Mark): Change[] =>
    pairs
      .filter((pair) => !pair.some((id) => fresh.has(id)))
      .map((pair) => [pair[0] ?? "", pair[1] ?? ""] as const)
      .map(([from, to]) => {
        const isRead = from.startsWith("dataset:");
        const [job, dataset] = isRead ? [to, from] : [from, to];
        const verb = isRead ? "reads" : "writes";
        const detail = mark === "added" ? `now ${verb} ${name(dataset)}` : `no longer ${verb} ${name(dataset)}`;
        return { key: `${mark} ${from} ${to}`, mark, node: job, text: name(job), detail };
      });
  return [
    ...nodes(told.added, "added"),
    ...nodes(told.removed, "removed"),
    ...edges(told.edgesAdded, "added"),
    ...edges(told.edgesRemoved, "removed"),
    ...told.schemas.map((each) => ({
      key: `schema ${each.node}`,
      mark: "changed" as const,
      node: each.node,
      text: name(each.node),
      detail: [...each.added.map((field) => `+ ${field}`), ...each.removed.map((field) => `− ${field}`)].join("\n"),
    })),
    ...told.code.map((each) => ({
      key: `code ${each.node}`,
      mark: "changed" as const,
      node: each.node,
      text: name(each.node),
      detail: `code ${(each.from as string | null)?.slice(0, 7) ?? "unknown"} → ${(each.to as string | null)?.slice(0, 7) ?? "unknown"}`,
    })),
    ...told.failed.map((run) => ({
      key: `failed ${run.runId}`,
      mark: "failed" as const,
      node: `job:${run.job.namespace}:${run.job.name}`,
      run: run.runId,
      text: parts(run.job.name, "job").title,
      detail: run.error ?? "",
    })),
  ];
}
