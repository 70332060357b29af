import type { ColumnChange, Mark } from "./difference";
import { columnKey, type ColumnKey } from "./lit";
import type { ColumnEdge, DatasetNode } from "./types";

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
  const told = new Map(node.fields.map((field) => [field.name, field.type]));
  for (const edge of edges) {
    for (const end of [edge.from, edge.to]) {
      if (end.id === node.id && !told.has(end.field)) told.set(end.field, "");
    }
  }
  for (const change of changes.values()) {
    if (change.node === node.id && !told.get(change.field)) told.set(change.field, change.type);
  }
  return [...told]
    .map(([name, type]) => {
      const key = columnKey(node.id, name);
      return { name, type, isRelated: related.has(key), mark: changes.get(key)?.mark ?? null };
    })
    .sort((a, b) => Number(b.mark !== null) - Number(a.mark !== null) || Number(b.isRelated) - Number(a.isRelated));
}
