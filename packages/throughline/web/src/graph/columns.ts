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

/** The columns of a dataset, those first that are other than before, then those with lineage to what is shown. */
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

/** The columns that a node shows, and how many there are besides. */
export interface RowPage {
  rows: ColumnRow[];
  all: number;
  found: number;
  /** Of `pages`, from 0. */
  page: number;
  pages: number;
  text: string;
  /** How many columns the dataset has, where only those on the locked path are shown; null: it is unfolded. */
  of: number | null;
}

/** The page of columns that is looked at; what is lit comes first. */
export function pageOf(id: NodeId, rows: readonly ColumnRow[], lit: ReadonlySet<ColumnKey>, { text, page }: Pick<Seek, "text" | "page"> = { text: "", page: 0 }): RowPage {
  const wanted = text.trim().toLowerCase();
  const found = rows.filter((row) => row.name.toLowerCase().includes(wanted));
  const isLit = (row: ColumnRow) => Number(lit.has(columnKey(id, row.name)));
  const pages = Math.max(1, Math.ceil(found.length / COLUMNS_SHOWN));
  const at = Math.min(page, pages - 1);
  const shown = found.toSorted((a, b) => isLit(b) - isLit(a)).slice(at * COLUMNS_SHOWN, (at + 1) * COLUMNS_SHOWN);
  return { rows: shown, all: rows.length, found: found.length, page: at, pages, text, of: null };
}

/** What a dataset shows that is not unfolded: its columns on the locked path; null if it has none. */
export function pathRows(node: DatasetNode, edges: readonly ColumnEdge[], lit: ReadonlySet<ColumnKey>): { rows: ColumnRow[]; of: number } | null {
  const all = rowsOf(node, edges);
  const rows = all.filter((row) => lit.has(columnKey(node.id, row.name)));
  return rows.length > 0 ? { rows, of: all.length } : null;
}

/** The lines between columns that nodes show, from the highest to the lowest, and how many are left out because one of their columns is not shown. */
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

/** A column and those that it comes from or leads to, as the API nests them. */
export interface ColumnTree {
  children: readonly ColumnTree[];
}

/** How many steps the farthest column of a tree is away. */
export function stepsOf(tree: ColumnTree): number {
  let steps = -1;
  for (let level: readonly ColumnTree[] = [tree]; level.length > 0; level = level.flatMap((node) => node.children)) steps += 1;
  return steps;
}
