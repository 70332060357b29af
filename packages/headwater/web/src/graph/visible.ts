import type { Graph, LineageEdge, LineageNode, NodeId, Side } from "./types";
import { parseGrip } from "./grips";
import { grow, type View } from "./view";

/** The shown part of a graph, with counts of the hidden parts. */
export interface Shown {
  nodes: LineageNode[];
  edges: LineageEdge[];
  /** Number of hidden neighbors by node. */
  hidden: Map<NodeId, Record<Side, number>>;
  /** Number of nodes by node that one more step shows; for a collapsed side, all nodes that it showed before. */
  more: Map<NodeId, Record<Side, number>>;
  /** Number of edges hidden by the view's options. */
  left: { control: number };
  /** Some of many neighbors are hidden, because they exceed `most`. */
  isCut: boolean;
}

type Neighbors = Record<Side, Map<NodeId, NodeId[]>>;

/** Return the neighbors of nodes by side. */
export function neighborsOf(edges: readonly LineageEdge[]): Neighbors {
  const found: Neighbors = { up: new Map(), down: new Map() };
  for (const { from, to } of edges) {
    found.down.set(from, [...(found.down.get(from) ?? []), to]);
    found.up.set(to, [...(found.up.get(to) ?? []), from]);
  }
  return found;
}

/** The part of a view that determines which nodes are shown. */
export type Extent = Pick<View, "up" | "down" | "grown" | "folded" | "picks" | "control" | "most">;

/** Return the part of the loaded graph that a view shows. `up` and `down` of a node are the numbers of all its neighbors. */
export function visible(graph: Graph, view: Extent): Shown {
  const data = graph.edges.filter((edge) => edge.kind === "data");
  const near = neighborsOf(data);
  const ids = idsOf(graph, near, view);
  const isCut = (side: Side, id: NodeId) => Number(near[side].get(id)?.filter((other) => graph.nodes.has(other) && !ids.has(other)).length) > 0 && Number(near[side].get(id)?.length) > view.most;
  const within = (edge: LineageEdge) => edgeWithin(edge, ids);
  const edges = data.filter(within);
  const shownNear = neighborsOf(edges);
  const nodes = [...ids].map((id) => graph.nodes.get(id)).filter((node) => node !== undefined);
  const without = (node: LineageNode, side: Side, { [side]: neighbors }: Neighbors) => node[side] - (neighbors.get(node.id)?.length ?? 0);
  const hidden = new Map(nodes.map((node) => [node.id, { up: without(node, "up", shownNear), down: without(node, "down", shownNear) }]));
  const more = new Map([...hidden].map(([id, counts]) => [id, { ...counts }]));
  for (const [side, id] of view.folded.map(parseGrip)) {
    const [node, counts] = [graph.nodes.get(id), more.get(id)];
    if (node && counts) counts[side] = idsOf(graph, near, grow(view, side, id)).size - ids.size + without(node, side, near);
  }
  const control = graph.edges.filter((edge) => edge.kind === "control");
  const drawn = view.control ? control.filter(within) : [];
  const all = view.control ? ids : idsOf(graph, near, { ...view, control: true });
  const left = view.control ? 0 : control.filter((edge) => edgeWithin(edge, all)).length;
  return { nodes, edges: [...edges, ...drawn], hidden, more, left: { control: left }, isCut: [...ids].some((id) => isCut("up", id) || isCut("down", id)) };
}

/** Return the number of steps to the farthest node on a side. */
export function farthest({ roots, edges }: Pick<Graph, "roots" | "edges">, side: Side): number {
  const near = neighborsOf(edges.filter((edge) => edge.kind === "data"))[side];
  const seen = new Set(roots);
  let [newest, steps] = [[...roots], 0];
  for (;;) {
    newest = newest.flatMap((id) => near.get(id) ?? []).filter((id) => !seen.has(id) && seen.add(id));
    if (newest.length === 0) return steps;
    steps++;
  }
}

function edgeWithin({ from, to }: LineageEdge, ids: ReadonlySet<NodeId>): boolean {
  return ids.has(from) && ids.has(to);
}

const WRONG = ["failed", "failed_checks", "blocked", "late"];

/** Return the loaded nodes that a view shows. */
function idsOf(graph: Graph, near: Neighbors, view: Extent): Set<NodeId> {
  const ids = new Set<NodeId>(graph.roots);
  const folded = new Set<string>(view.folded);
  const grown = new Set<string>(view.grown);
  const isWrong = (id: NodeId) => WRONG.includes(String(graph.nodes.get(id)?.health.state));
  // Many neighbors collapse into a number; those with problems are shown first.
  const neighborsTo = (side: Side, id: NodeId) => {
    const all = near[side].get(id) ?? [];
    return all.length <= view.most || grown.has(`${side}:${id}`) ? all : all.toSorted((a, b) => Number(isWrong(b)) - Number(isWrong(a))).slice(0, view.most);
  };
  for (const side of ["up", "down"] as const) {
    let newest = [...graph.roots];
    const seen = new Set(newest);
    for (let step = 0; step < view[side] && newest.length > 0; step++) {
      newest = newest
        .filter((id) => !folded.has(`${side}:${id}`))
        .flatMap((id) => neighborsTo(side, id))
        .filter((id) => !seen.has(id) && seen.add(id));
    }
    for (const id of seen) ids.add(id);
  }
  for (const grip of view.grown) {
    const [side, id] = parseGrip(grip);
    if (ids.has(id) && !folded.has(grip)) for (const other of near[side].get(id) ?? []) ids.add(other);
  }
  for (const { of, node } of view.picks) if (ids.has(parseGrip(of)[1]) && !folded.has(of)) ids.add(node);
  if (view.control) {
    // Jobs connected only by control edges are shown only next to a root.
    const roots = new Set(graph.roots);
    for (const { from, to } of graph.edges.filter((edge) => edge.kind === "control")) {
      if (roots.has(from)) ids.add(to);
      if (roots.has(to)) ids.add(from);
    }
  }
  return new Set([...ids].filter((id) => graph.nodes.has(id)));
}
