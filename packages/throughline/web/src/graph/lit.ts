import type { ColumnEdge, LineageEdge, NodeId, Side } from "./types";
import { neighboursOf } from "./visible";

/** All that a node comes from and leads to, and the node itself. */
export function litNodes(edges: readonly LineageEdge[], from: NodeId): Set<NodeId> {
  const near = neighboursOf(edges.filter((edge) => edge.kind === "data"));
  return new Set([from, ...walk(from, (id) => near.up.get(id)), ...walk(from, (id) => near.down.get(id))]);
}

/** Whether an edge is part of the path of a node: both ends are, and on the same side of it. */
export function litEdges(edges: readonly LineageEdge[], from: NodeId): Set<LineageEdge> {
  const near = neighboursOf(edges.filter((edge) => edge.kind === "data"));
  const sides: Record<Side, Set<NodeId>> = {
    up: new Set([from, ...walk(from, (id) => near.up.get(id))]),
    down: new Set([from, ...walk(from, (id) => near.down.get(id))]),
  };
  const isLit = (edge: LineageEdge) =>
    edge.kind === "data" && [sides.up, sides.down].some((side) => side.has(edge.from) && side.has(edge.to));
  return new Set(edges.filter(isLit));
}

/** A column as one text: dataset, a space that no id ends with, field. */
export type ColumnKey = string;

export function columnKey(id: string, field: string): ColumnKey {
  return `${id}|${field}`;
}

/** What the details show of a column, as `View.open` has it. */
export function openColumn(id: string, field: string): string {
  return `column:${columnKey(id, field)}`;
}

/** The dataset and the field of a column's key, or of its details. */
export function columnOf(key: ColumnKey): [NodeId, string] {
  const at = key.lastIndexOf("|");
  return [key.slice(key.startsWith("column:") ? 7 : 0, at) as NodeId, key.slice(at + 1)];
}

/** The columns that one is made of and makes, and the edges between them. */
export function litColumns(edges: readonly ColumnEdge[], from: ColumnKey): { keys: Set<ColumnKey>; edges: ColumnEdge[] } {
  const up = new Map<ColumnKey, ColumnKey[]>();
  const down = new Map<ColumnKey, ColumnKey[]>();
  for (const edge of edges) {
    const [start, end] = [columnKey(edge.from.id, edge.from.field), columnKey(edge.to.id, edge.to.field)];
    down.set(start, [...(down.get(start) ?? []), end]);
    up.set(end, [...(up.get(end) ?? []), start]);
  }
  const sides = [up, down].map((near) => new Set([from, ...walk(from, (key) => near.get(key))]));
  const isLit = (edge: ColumnEdge) =>
    sides.some((side) => side.has(columnKey(edge.from.id, edge.from.field)) && side.has(columnKey(edge.to.id, edge.to.field)));
  return { keys: new Set(sides.flatMap((side) => [...side])), edges: edges.filter(isLit) };
}

/** The datasets of columns. */
export function datasetsOf(keys: ReadonlySet<ColumnKey>): Set<NodeId> {
  return new Set([...keys].map((key) => columnOf(key)[0]));
}

function walk<T>(from: T, next: (each: T) => readonly T[] | undefined): Set<T> {
  const found = new Set<T>();
  const open = [from];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    for (const other of next(each) ?? []) {
      if (!found.has(other)) {
        found.add(other);
        open.push(other);
      }
    }
  }
  return found;
}
