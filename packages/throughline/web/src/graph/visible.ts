import type { Graph, LineageEdge, LineageNode, NodeId, Side } from "./types";
import { held, type View } from "./view";

/** What is drawn of a graph, and what is not: `hidden` counts for each node what more there is. */
export interface Shown {
  nodes: LineageNode[];
  edges: LineageEdge[];
  hidden: Map<NodeId, Record<Side, number>>;
  /** What a choice of the reader's leaves out. */
  left: { control: number };
}

type Neighbours = Record<Side, Map<NodeId, NodeId[]>>;

/** Data edges by their ends. */
export function neighboursOf(edges: readonly LineageEdge[]): Neighbours {
  const found: Neighbours = { up: new Map(), down: new Map() };
  for (const { from, to } of edges) {
    found.down.set(from, [...(found.down.get(from) ?? []), to]);
    found.up.set(to, [...(found.up.get(to) ?? []), from]);
  }
  return found;
}

/** What of a view decides which nodes are shown. */
export type Extent = Pick<View, "up" | "down" | "grown" | "folded" | "control">;

/** The part of a graph that a view asks for, of what is known of it so far. */
export function visible(graph: Graph, view: Extent): Shown {
  const data = graph.edges.filter((edge) => edge.kind === "data");
  const near = neighboursOf(data);
  const ids = new Set<NodeId>(graph.roots);
  const folded = new Set<string>(view.folded);
  for (const side of ["up", "down"] as const) {
    let newest = [...graph.roots];
    const seen = new Set(newest);
    for (let step = 0; step < view[side] && newest.length > 0; step++) {
      newest = newest
        .filter((id) => !folded.has(`${side}:${id}`))
        .flatMap((id) => near[side].get(id) ?? [])
        .filter((id) => !seen.has(id) && seen.add(id));
    }
    for (const id of seen) ids.add(id);
  }
  for (const each of view.grown) {
    const [side, id] = held(each);
    if (ids.has(id)) for (const other of near[side].get(id) ?? []) ids.add(other);
  }
  const control = graph.edges.filter((edge) => edge.kind === "control" && (ids.has(edge.from) || ids.has(edge.to)));
  if (view.control) {
    // A job that nothing but control leads to is worth a place only beside a root.
    const roots = new Set(graph.roots);
    for (const { from, to } of control) {
      if (roots.has(from)) ids.add(to);
      if (roots.has(to)) ids.add(from);
    }
  }
  const within = ({ from, to }: LineageEdge) => ids.has(from) && ids.has(to);
  const edges = data.filter(within);
  const shownNear = neighboursOf(edges);
  const nodes = [...ids].map((id) => graph.nodes.get(id)).filter((node) => node !== undefined);
  const hidden = new Map(
    nodes.map((node) => [
      node.id,
      {
        up: node.up - (shownNear.up.get(node.id)?.length ?? 0),
        down: node.down - (shownNear.down.get(node.id)?.length ?? 0),
      },
    ]),
  );
  const drawn = view.control ? control.filter(within) : [];
  return { nodes, edges: [...edges, ...drawn], hidden, left: { control: view.control ? 0 : control.length } };
}
