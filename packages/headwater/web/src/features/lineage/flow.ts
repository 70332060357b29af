import { Position, type Edge, type Node, type NodeHandle } from "@xyflow/react";
import type { RowPage } from "../../graph/columns";
import type { FrameBox } from "../../graph/arrange";
import type { Direction } from "../../graph/types";
import type { Mark } from "../../graph/difference";
import type { LitColumns } from "../../graph/lit";
import { GRIPS, sizeOf, type Place } from "../../graph/layout";
import type { ColumnEdge, DatasetNode, JobNode, LineageEdge, LineageNode, NodeId, Side } from "../../graph/types";
import type { Trouble } from "../../graph/state";
import { transformationName } from "../../graph/transformation";
import type { Laid } from "./useLayout";

/** The appearance of a node or an edge. */
export interface Appearance {
  isDim: boolean;
  isLit: boolean;
  isRoot: boolean;
  mark: Mark | null;
  trouble: Trouble | null;
}

interface Data<T extends LineageNode> extends Record<string, unknown>, Appearance {
  node: T;
  more: Record<Side, number>;
  shownSides: Record<Side, boolean>;
  columns: RowPage | null;
  litColumns: ReadonlySet<string>;
  hues: LitColumns["hues"];
  direction: Direction;
  /** The frame around the node shows its pipeline's name. */
  isFramed: boolean;
}

export type FrameFlowNode = Node<{ box: FrameBox; trouble: Trouble | null }, "frame">;
export type JobFlowNode = Node<Data<JobNode>, "job">;
export type DatasetFlowNode = Node<Data<DatasetNode>, "dataset">;
export type FlowNode = JobFlowNode | DatasetFlowNode;

/** The sides of a node at which edges end. */
export const SIDES: Record<Direction, { in: Position; out: Position }> = {
  right: { in: Position.Left, out: Position.Right },
  down: { in: Position.Top, out: Position.Bottom },
};

/** Return the points of a node at which its edges end, for React Flow, which would measure them otherwise. */
function handlesOf(direction: Direction, height: number): NodeHandle[] {
  const { in: start, out: end } = SIDES[direction];
  const [first, last] = direction === "right" ? [GRIPS.left, GRIPS.right] : [GRIPS.top, { ...GRIPS.top, y: height }];
  return [
    { id: "in", type: "target", position: start, ...first },
    { id: "out", type: "source", position: end, ...last },
  ];
}

/** Return frames as React Flow nodes, below edges and nodes. */
export function flowFrames(frames: readonly { box: FrameBox; trouble: Trouble | null }[]): FrameFlowNode[] {
  return frames.map((data) => {
    const { box } = data;
    const { x, y, width, height, frame } = box;
    return { id: `frame ${frame.id}`, type: "frame", position: { x, y }, width, height, measured: { width, height }, zIndex: -1, data };
  });
}

interface FlowOptions {
  appearanceOf: (id: NodeId) => Appearance;
  columnsOf: (id: NodeId) => RowPage | null;
  litColumns: ReadonlySet<string>;
  hues: LitColumns["hues"];
}

/** Return nodes as React Flow nodes. */
export function flowNodes(laid: Laid, { appearanceOf, columnsOf, litColumns, hues }: FlowOptions): FlowNode[] {
  const sides = new Set(laid.shown.edges.flatMap((edge) => (edge.kind === "data" ? [`down ${edge.from}`, `up ${edge.to}`] : [])));
  const framed = new Set(laid.frames.flatMap(({ frame }) => frame.members));
  return laid.shown.nodes.flatMap((node): FlowNode[] => {
    const position = laid.places.get(node.id);
    if (!position) return [];
    const columns = columnsOf(node.id);
    const shared = {
      ...appearanceOf(node.id),
      more: laid.shown.more.get(node.id) ?? { up: 0, down: 0 },
      shownSides: { up: sides.has(`up ${node.id}`), down: sides.has(`down ${node.id}`) },
      columns,
      litColumns,
      hues,
      direction: laid.direction,
      isFramed: node.type === "job" && framed.has(node.id),
    };
    const size = sizeOf(laid.columns.get(node.id) ?? null);
    // Sizes and handles are given, because React Flow draws every node without them once to measure it.
    const base = { id: node.id, position, ...size, measured: size, ...(columns ? {} : { handles: handlesOf(laid.direction, size.height) }) };
    return node.type === "job"
      ? [{ ...base, type: "job" as const, data: { ...shared, node } }]
      : [{ ...base, type: "dataset" as const, data: { ...shared, node } }];
  });
}

/** Return an edge between nodes as a React Flow edge. */
export function flowEdge(edge: LineageEdge, corners: readonly Place[] | undefined, direction: Direction, appearance: Appearance): Edge {
  const tone = [edge.kind, edge.grade && `grade-${edge.grade}`, appearance.isDim && "dim", appearance.isLit && "lit", appearance.mark].filter(Boolean).join(" ");
  return {
    id: `${edge.kind} ${edge.from} ${edge.to}`,
    source: edge.from,
    target: edge.to,
    sourceHandle: "out",
    targetHandle: "in",
    className: tone,
    type: "line",
    data: { corners: corners ?? [], isDown: direction === "down" },
    focusable: false,
  };
}

/** Return an edge between columns as a React Flow edge; a highlighted edge shows the transformation. */
export function columnFlowEdge(edge: ColumnEdge, corners: readonly Place[] | undefined, direction: Direction, hue: number | null, mark: Mark | null): Edge {
  const isLit = hue !== null;
  return {
    id: `column ${edge.from.id}|${edge.from.field} ${edge.to.id}|${edge.to.field}`,
    source: edge.from.id,
    target: edge.to.id,
    sourceHandle: `out:${edge.from.field}`,
    targetHandle: `in:${edge.to.field}`,
    className: ["column", !edge.isDirect && "indirect", isLit && `lit hue-${hue}`, mark].filter(Boolean).join(" "),
    type: "column",
    data: { corners: corners ?? [], isBeside: corners !== undefined && direction === "down" },
    label: isLit ? transformationName(edge.how) || "direct" : undefined,
    focusable: false,
  };
}
