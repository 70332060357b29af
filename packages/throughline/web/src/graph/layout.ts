import type { ElkNode } from "elkjs/lib/elk-api";
import { COLUMNS_SHOWN } from "./columns";
import type { LineageEdge, LineageNode, NodeId } from "./types";

export interface Place {
  x: number;
  y: number;
}

const WIDTH = 256;
/** Rows of a node in pixels, as styles/node.css draws them: the layout needs no page. */
const ROWS = { body: 78, search: 40, column: 28, more: 32 };

export function sizeOf(columns: number | null): { width: number; height: number } {
  if (columns === null) return { width: WIDTH, height: ROWS.body };
  const rows = Math.min(columns, COLUMNS_SHOWN) * ROWS.column;
  return { width: WIDTH, height: ROWS.body + ROWS.search + Math.max(rows, ROWS.column) + ROWS.more };
}

/** A graph as elk takes it: layers from left to right, in the order of the data. */
export function toElk(
  nodes: readonly LineageNode[],
  edges: readonly LineageEdge[],
  columnsOf: (node: LineageNode) => number | null,
): ElkNode {
  const isLarge = nodes.length > 300;
  return {
    id: "graph",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.layered.spacing.nodeNodeBetweenLayers": "88",
      "elk.spacing.nodeNode": "28",
      "elk.layered.nodePlacement.strategy": isLarge ? "BRANDES_KOEPF" : "NETWORK_SIMPLEX",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      "elk.layered.thoroughness": isLarge ? "2" : "7",
      "elk.edgeRouting": "POLYLINE",
    },
    children: [...nodes]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((node) => ({ id: node.id, ...sizeOf(columnsOf(node)) })),
    edges: edges.map((edge, place) => ({ id: String(place), sources: [edge.from], targets: [edge.to] })),
  };
}

export function placesOf(laid: ElkNode): Map<NodeId, Place> {
  return new Map((laid.children ?? []).map(({ id, x = 0, y = 0 }) => [id as NodeId, { x, y }]));
}
