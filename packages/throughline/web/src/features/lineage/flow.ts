import { Position, type Edge, type Node, type NodeHandle } from "@xyflow/react";
import type { RowPage } from "../../graph/columns";
import type { Mark } from "../../graph/difference";
import { GRIPS, sizeOf, type Place } from "../../graph/layout";
import type { ColumnEdge, DatasetNode, JobNode, LineageEdge, LineageNode, NodeId, Side } from "../../graph/types";
import { said } from "../../graph/transformation";
import type { Laid } from "./useLayout";

/** How a node or an edge is looked at. */
export interface Look {
  isDim: boolean;
  isLit: boolean;
  isRoot: boolean;
  mark: Mark | null;
}

interface Data<T extends LineageNode> extends Record<string, unknown>, Look {
  node: T;
  more: Record<Side, number>;
  shownSides: Record<Side, boolean>;
  columns: RowPage | null;
  litColumns: ReadonlySet<string>;
}

export type JobFlowNode = Node<Data<JobNode>, "job">;
export type DatasetFlowNode = Node<Data<DatasetNode>, "dataset">;
export type FlowNode = JobFlowNode | DatasetFlowNode;

const HANDLES: NodeHandle[] = [
  { id: "in", type: "target", position: Position.Left, ...GRIPS.left },
  { id: "out", type: "source", position: Position.Right, ...GRIPS.right },
];

interface Looks {
  lookOf: (id: NodeId) => Look;
  columnsOf: (id: NodeId) => RowPage | null;
  litColumns: ReadonlySet<string>;
}

/** Nodes as React Flow takes them. */
export function flowNodes(laid: Laid, { lookOf, columnsOf, litColumns }: Looks): FlowNode[] {
  const sides = new Set(laid.shown.edges.flatMap((edge) => (edge.kind === "data" ? [`down ${edge.from}`, `up ${edge.to}`] : [])));
  return laid.shown.nodes.flatMap((node): FlowNode[] => {
    const position = laid.places.get(node.id);
    if (!position) return [];
    const columns = columnsOf(node.id);
    const shared = {
      ...lookOf(node.id),
      more: laid.shown.more.get(node.id) ?? { up: 0, down: 0 },
      shownSides: { up: sides.has(`up ${node.id}`), down: sides.has(`down ${node.id}`) },
      columns,
      litColumns,
    };
    const size = sizeOf(laid.columns.get(node.id) ?? null);
    // React Flow draws every node of unknown size or handles once, to measure it: all 1,000 of them.
    const base = { id: node.id, position, ...size, measured: size, ...(columns ? {} : { handles: HANDLES }) };
    return node.type === "job"
      ? [{ ...base, type: "job" as const, data: { ...shared, node } }]
      : [{ ...base, type: "dataset" as const, data: { ...shared, node } }];
  });
}

/** An edge between nodes as React Flow takes it. */
export function flowEdge(edge: LineageEdge, corners: readonly Place[] | undefined, look: Look): Edge {
  const tone = [edge.kind, look.isDim && "dim", look.isLit && "lit", look.mark].filter(Boolean).join(" ");
  return {
    id: `${edge.kind} ${edge.from} ${edge.to}`,
    source: edge.from,
    target: edge.to,
    sourceHandle: "out",
    targetHandle: "in",
    className: tone,
    type: "line",
    ...(corners && { data: { corners } }),
    focusable: false,
  };
}

/** An edge between columns; how one is made of the other is written on it when it is lit. */
export function columnFlowEdge(edge: ColumnEdge, corners: readonly Place[] | undefined, isLit: boolean, mark: Mark | null): Edge {
  return {
    id: `column ${edge.from.id}|${edge.from.field} ${edge.to.id}|${edge.to.field}`,
    source: edge.from.id,
    target: edge.to.id,
    sourceHandle: `out:${edge.from.field}`,
    targetHandle: `in:${edge.to.field}`,
    className: ["column", !edge.isDirect && "indirect", isLit && "lit", mark].filter(Boolean).join(" "),
    type: "column",
    ...(corners && { data: { corners } }),
    label: isLit ? said(edge.how) || "direct" : undefined,
    focusable: false,
  };
}
