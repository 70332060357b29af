import type { ColumnChange, Mark } from "./difference";
import { columnKey, type ColumnKey } from "./lit";
import type { ColumnEdge, DatasetNode, NodeId, Seek } from "./types";

export const COLUMNS_SHOWN = 10;

export interface ColumnRow {
  name: string;
  type: string;
  isRelated: boolean;
  mark: Mark | null;
}

/** Return the columns of a dataset: changed ones first, then those with lineage to the shown graph. */
export function rowsOf(node: DatasetNode, edges: readonly ColumnEdge[], changes: ReadonlyMap<ColumnKey, ColumnChange> = new Map()): ColumnRow[] {
  const related = new Set<ColumnKey>();
  for (const edge of edges) {
    related.add(columnKey(edge.from.id, edge.from.field));
    related.add(columnKey(edge.to.id, edge.to.field));
  }
  const types = new Map(node.fields.map((field) => [field.name, field.type]));
  for (const edge of edges) {
    for (const end of [edge.from, edge.to]) {
      if (end.id === node.id && !types.has(end.field)) types.set(end.field, "");
    }
  }
  for (const change of changes.values()) {
    if (change.node === node.id && !types.get(change.field)) types.set(change.field, change.type);
  }
  return [...types]
    .map(([name, type]) => {
      const key = columnKey(node.id, name);
      return { name, type, isRelated: related.has(key), mark: changes.get(key)?.mark ?? null };
    })
    .sort((a, b) => Number(b.mark !== null) - Number(a.mark !== null) || Number(b.isRelated) - Number(a.isRelated));
}

/** The page of columns that a node shows, with counts. */
export interface RowPage {
  rows: ColumnRow[];
  all: number;
  found: number;
  /** Page index, from 0. */
  page: number;
  pages: number;
  text: string;
  /** Number of all columns if only those on the locked path are shown; null if the dataset is expanded. */
  of: number | null;
}

/** Return the selected page of matching columns, highlighted ones first. */
export function pageOf(id: NodeId, rows: readonly ColumnRow[], lit: ReadonlySet<ColumnKey>, { text, page }: Pick<Seek, "text" | "page"> = { text: "", page: 0 }): RowPage {
  const wanted = text.trim().toLowerCase();
  const found = rows.filter((row) => row.name.toLowerCase().includes(wanted));
  const isLit = (row: ColumnRow) => Number(lit.has(columnKey(id, row.name)));
  const pages = Math.max(1, Math.ceil(found.length / COLUMNS_SHOWN));
  const at = Math.min(page, pages - 1);
  const shown = found.toSorted((a, b) => isLit(b) - isLit(a)).slice(at * COLUMNS_SHOWN, (at + 1) * COLUMNS_SHOWN);
  return { rows: shown, all: rows.length, found: found.length, page: at, pages, text, of: null };
}

/** Return the columns of a collapsed dataset on the locked path, or null if there are none. */
export function pathRows(node: DatasetNode, edges: readonly ColumnEdge[], lit: ReadonlySet<ColumnKey>): { rows: ColumnRow[]; of: number } | null {
  const all = rowsOf(node, edges);
  const rows = all.filter((row) => lit.has(columnKey(node.id, row.name)));
  return rows.length > 0 ? { rows, of: all.length } : null;
}

/** Return the edges between shown columns, from top to bottom, and count those with a hidden column as `left`. */
export function linesOf(edges: readonly ColumnEdge[], pages: ReadonlyMap<string, RowPage>): { lines: ColumnEdge[]; left: number } {
  const shown = new Map([...pages].flatMap(([id, { rows }]) => rows.map((row, place) => [columnKey(id, row.name), place])));
  const between = edges.filter(({ from, to }) => pages.has(from.id) && pages.has(to.id));
  const found = between.flatMap((edge) => {
    const [start, end] = [edge.from, edge.to].map(({ id, field }) => shown.get(columnKey(id, field)));
    return start === undefined || end === undefined ? [] : [{ edge, height: start + end }];
  });
  const lines = found.toSorted((a, b) => a.height - b.height).map(({ edge }) => edge);
  return { lines, left: between.length - lines.length };
}

/** A column with its upstream or downstream columns, nested as in the API. */
export interface ColumnTree {
  children: readonly ColumnTree[];
}

/** Return the number of steps to the farthest column of a tree. */
export function stepsOf(tree: ColumnTree): number {
  let steps = -1;
  for (let level: readonly ColumnTree[] = [tree]; level.length > 0; level = level.flatMap((node) => node.children)) steps += 1;
  return steps;
}
