import { columnKey, type ColumnKey } from "./lit";
import type { ColumnEdge, DatasetNode } from "./types";

export const COLUMNS_SHOWN = 10;

export interface ColumnRow {
  name: string;
  type: string;
  isRelated: boolean;
}

/** The columns of a dataset, those first that have lineage to what is shown, as they match a text. */
export function rowsOf(node: DatasetNode, edges: readonly ColumnEdge[], text = ""): ColumnRow[] {
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
  const wanted = text.trim().toLowerCase();
  return [...told]
    .map(([name, type]) => ({ name, type, isRelated: related.has(columnKey(node.id, name)) }))
    .filter((row) => row.name.toLowerCase().includes(wanted))
    .sort((a, b) => Number(b.isRelated) - Number(a.isRelated));
}
