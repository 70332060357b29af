import type { Edge } from "@xyflow/react";
import { useMemo } from "react";
import { linesOf, pageOf, pathRows, rowsOf, type ColumnRow } from "../../graph/columns";
import type { Difference } from "../../graph/difference";
import { datasetsOf, litColumns, litPath, type LitColumns, lockedIn } from "../../graph/lit";
import { columnEdgeKey } from "../../graph/merge";
import { throughJobs } from "../../graph/route";
import { troubleOf, troubleOfFrame, type Trouble } from "../../graph/state";
import type { Graph, NodeId } from "../../graph/types";
import type { Shown } from "../../graph/visible";
import { type View } from "../../graph/view";
import { directionFor, type FrameBox } from "../../graph/arrange";
import type { Direction } from "../../graph/types";
import { sizeOf, type Box } from "../../graph/layout";
import { columnFlowEdge, flowEdge, flowNodes, type FlowNode } from "./flow";
import { useLayout } from "./useLayout";
import { useRoom } from "./useRoom";

interface Drawn {
  nodes: FlowNode[];
  edges: Edge[];
  /** Pipelines around their tasks. */
  frames: readonly { box: FrameBox; trouble: Trouble | null }[];
  direction: Direction | null;
  /** The identity of the drawn graph; null while part of it is missing. */
  about: string | null;
  /** Boxes of all nodes in the layout, drawn or not. */
  extent: readonly Box[];
  /** The datasets on the locked column's path, once they are laid out; null if no column is locked. */
  path: ReadonlySet<string> | null;
  /** The number of lines not drawn because one of their columns is hidden. */
  left: number;
  trouble: Error | null;
  /** The number of nodes in a running layout; null if none is running. */
  pending: number | null;
  /** The drawn graph has another level, time or number of steps than the view. */
  isOther: boolean;
}

const NO_HUES: LitColumns["hues"] = new Map();

/**
 * Return the nodes and edges to draw, once they are laid out.
 *
 * `shown` is the part of `graph` that the view shows; `toArrange` is null while it belongs to the previous view. `plan` is a
 * larger graph from whose layout the places are taken, so that the graphs of two times have the same ones. `about` identifies the graph.
 */
export function useDrawn(graph: Graph | null, shown: Shown | null, toArrange: Shown | null, view: View, difference: Difference | null, about: string | null, plan: Shown | null): Drawn {
  const locked = useMemo(() => (graph && view.column ? litColumns(graph.columns, lockedIn({ column: view.column, also: view.also })) : null), [graph, view.column, view.also]);
  const opened = useMemo(() => {
    const open = new Set(view.columns);
    const pages = new Map<NodeId, { rows: ColumnRow[]; of: number | null }>();
    for (const node of shown?.nodes ?? []) {
      if (node.type !== "dataset") continue;
      const onPath = locked && !open.has(node.id) && pathRows(node, graph?.columns ?? [], locked.keys);
      if (open.has(node.id)) pages.set(node.id, { rows: rowsOf(node, graph?.columns ?? [], difference?.columns), of: null });
      else if (onPath) pages.set(node.id, onPath);
    }
    return pages;
  }, [graph, shown, locked, view.columns, difference]);
  const counts = useMemo(() => {
    // Nodes at the other time reserve the same space.
    const others = (plan?.nodes ?? []).flatMap((node): [NodeId, number][] => (node.type === "dataset" && view.columns.includes(node.id) ? [[node.id, rowsOf(node, []).length]] : []));
    const rowCounts = new Map(others);
    for (const [id, { rows }] of opened) rowCounts.set(id, Math.max(rows.length, rowCounts.get(id) ?? 0));
    return rowCounts;
  }, [opened, plan, view.columns]);
  const room = useRoom(view.beside !== null);
  const { laid, trouble, pending } = useLayout(view.node, toArrange, plan, counts, room, view.direction ?? directionFor(room), about);
  const drawn = useMemo(() => {
    // Clicks change this view, so a graph around another node is not drawn.
    if (laid?.node !== view.node || !graph) return { nodes: [], edges: [], frames: [], extent: [], direction: null, about: null, path: null, left: 0, trouble };
    const { nodes, edges } = laid.shown;
    const ids = new Set(nodes.map((node) => node.id));
    const lit = view.lit && ids.has(view.lit) ? litPath({ edges, sources: graph.sources }, view.lit) : null;
    const path: ReadonlySet<string> | null = locked && datasetsOf(locked.keys);
    const troubles = new Map(nodes.map((node) => [node.id as string, troubleOf(node)]));
    const isDim = (id: string) => (lit ? !lit.nodes.has(id as NodeId) : path ? !path.has(id) && id.startsWith("dataset:") : false);
    const keys = locked?.keys ?? new Set<string>();
    // Columns not yet in the layout would overlap other nodes.
    const placed = [...opened].filter(([id]) => laid.columns.has(id));
    const pages = new Map(placed.map(([id, { rows, of }]) => [id, { ...pageOf(id, rows, keys, view.seeks.find((search) => of === null && search.id === id)), of }]));
    const drawn = flowNodes(laid, {
      appearanceOf: (id) => ({
        isDim: isDim(id),
        isLit: view.lit === id,
        isRoot: graph.roots.includes(id),
        mark: difference?.marks.get(id) ?? null,
        trouble: troubles.get(id) ?? null,
      }),
      columnsOf: (id) => pages.get(id) ?? null,
      litColumns: keys,
      hues: locked?.hues ?? NO_HUES,
    });
    const lines = edges.map((edge) =>
      flowEdge(edge, laid.corners.get(edge), laid.direction, {
        isDim: lit ? !lit.edges.has(edge) : path !== null,
        isLit: lit?.edges.has(edge) ?? false,
        isRoot: false,
        mark: difference?.edges.get(`${edge.from} ${edge.to}`) ?? null,
        trouble: null,
      }),
    );
    const { lines: columnEdges, left } = linesOf(locked?.edges ?? graph.columns, pages);
    const corners = throughJobs(columnEdges, edges, laid.corners, laid.places, laid.direction === "down" ? (id) => sizeOf(laid.columns.get(id as NodeId) ?? null).height : null);
    const columns = columnEdges.map((edge) => columnFlowEdge(edge, corners.get(edge), laid.direction, locked?.hues.get(edge) ?? null, difference?.columnEdges.get(columnEdgeKey(edge)) ?? null));
    return { nodes: drawn, edges: [...lines, ...columns], frames: laid.frames.map((box) => ({ box, trouble: troubleOfFrame(box) })), extent: laid.extent, direction: laid.direction, about: laid.about, path: placed.length === opened.size ? path : null, left, trouble };
  }, [laid, trouble, graph, locked, view.node, view.lit, view.seeks, difference, opened]);
  return { ...drawn, pending, isOther: laid !== null && laid.about !== about };
}
