import type { ColumnEdge, Graph, LineageEdge, NodeId, Sources } from "./types";

export interface LitPath {
  nodes: Set<NodeId>;
  edges: Set<LineageEdge>;
}

/** Return a node with its upstream and downstream nodes and edges; paths through a job follow its reported sources. */
export function litPath({ edges, sources }: Pick<Graph, "edges" | "sources">, from: NodeId): LitPath {
  const path: LitPath = { nodes: new Set([from]), edges: new Set() };
  const data = edges.filter((edge) => edge.kind === "data");
  for (const side of ["up", "down"] as const) {
    const near = new Map<NodeId, LineageEdge[]>();
    const [end, start] = side === "up" ? (["from", "to"] as const) : (["to", "from"] as const);
    for (const edge of data) near.set(edge[start], [...(near.get(edge[start]) ?? []), edge]);
    // For a job with sources, the next nodes depend on the node from which the path enters it.
    const places = new Map<string, Place>();
    const placeOf = (node: NodeId, via: NodeId | null): string => {
      const key = JSON.stringify([node, via]);
      places.set(key, { node, via });
      return key;
    };
    walk(placeOf(from, null), (key) => {
      const { node, via } = places.get(key) as Place;
      const leads = (edge: LineageEdge) => via === null || isFed(sources.get(node), side === "up" ? [edge.from, via] : [via, edge.to]);
      return (near.get(node) ?? []).filter(leads).map((edge) => {
        path.nodes.add(edge[end]);
        path.edges.add(edge);
        return placeOf(edge[end], sources.has(edge[end]) ? node : null);
      });
    });
  }
  return path;
}

/** A node on a path, with the previous node if the node is a job with sources. */
interface Place {
  node: NodeId;
  via: NodeId | null;
}

/** Return true if an output of a job comes from an input. */
function isFed(sources: Sources | undefined, [input, output]: [NodeId, NodeId]): boolean {
  return sources?.get(output)?.has(input) ?? true;
}

/** A column as one string: the dataset's id, `|` and the field. */
export type ColumnKey = string;

export function columnKey(id: string, field: string): ColumnKey {
  return `${id}|${field}`;
}

/** Return the `View.open` value for a column's details. */
export function openColumn(id: string, field: string): string {
  return `column:${columnKey(id, field)}`;
}

/** Return the dataset and the field of a column key or a `View.open` value. */
export function columnOf(key: ColumnKey): [NodeId, string] {
  const at = key.lastIndexOf("|");
  return [key.slice(key.startsWith("column:") ? 7 : 0, at) as NodeId, key.slice(at + 1)];
}

/** Columns whose paths can be locked at once; each has a color. */
export const MOST_LOCKED = 4;

/** Columns of a view whose paths are locked. */
interface Locked {
  column: ColumnKey | null;
  also: ColumnKey[];
}

/** Return the columns whose paths are locked. */
export function lockedIn({ column, also }: Locked): ColumnKey[] {
  return column === null ? [] : [column, ...also];
}

/** Lock the path of one more column, or unlock it. If too many are locked, the last one is replaced. */
export function toggleLocked(view: Locked, key: ColumnKey): Locked & { lit: null } {
  const locked = lockedIn(view);
  const [column = null, ...also] = locked.includes(key) ? locked.filter((other) => other !== key) : [...locked.slice(0, MOST_LOCKED - 1), key];
  return { column, also, lit: null };
}

/** Columns and edges on the paths of locked columns. */
export interface LitColumns {
  keys: Set<ColumnKey>;
  edges: ColumnEdge[];
  /** The first locked column, by its place, on whose path a column or an edge is. */
  hues: Map<ColumnKey | ColumnEdge, number>;
}

/** Return the upstream and downstream columns of some columns, and the edges between them. */
export function litColumns(edges: readonly ColumnEdge[], from: readonly ColumnKey[]): LitColumns {
  const up = new Map<ColumnKey, ColumnKey[]>();
  const down = new Map<ColumnKey, ColumnKey[]>();
  for (const edge of edges) {
    const [start, end] = [columnKey(edge.from.id, edge.from.field), columnKey(edge.to.id, edge.to.field)];
    down.set(start, [...(down.get(start) ?? []), end]);
    up.set(end, [...(up.get(end) ?? []), start]);
  }
  const hues: LitColumns["hues"] = new Map();
  const keys = new Set<ColumnKey>();
  from.forEach((column, hue) => {
    const sides = [up, down].map((near) => new Set([column, ...walk(column, (key) => near.get(key))]));
    const isLit = (edge: ColumnEdge) =>
      sides.some((side) => side.has(columnKey(edge.from.id, edge.from.field)) && side.has(columnKey(edge.to.id, edge.to.field)));
    const found = sides.flatMap((side) => [...side]);
    for (const key of found) keys.add(key);
    for (const item of [column, ...found, ...edges.filter(isLit)]) if (!hues.has(item) || item === column) hues.set(item, hue);
  });
  return { keys, edges: edges.filter((edge) => hues.has(edge)), hues };
}

/** Return the datasets of columns. */
export function datasetsOf(keys: ReadonlySet<ColumnKey>): Set<NodeId> {
  return new Set([...keys].map((key) => columnOf(key)[0]));
}

/** Return all items reachable from one. */
function walk<T>(from: T, next: (item: T) => readonly T[] | undefined): Set<T> {
  const found = new Set<T>();
  const open = [from];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    for (const other of next(item) ?? []) {
      if (!found.has(other)) {
        found.add(other);
        open.push(other);
      }
    }
  }
  return found;
}
