/** The addresses of the pages beside the graph: everything that they show is in them. */

export interface ImpactView {
  node: string;
  field: string | null;
  level: string;
  at: string | null;
  text: string;
}

export interface ProvenanceView {
  node: string;
  version: string | null;
  at: string | null;
}

export function impactOf(node: string, others: Partial<ImpactView> = {}): string {
  const { field, level, at, text } = others;
  return address("/impact", { node, column: field, level: level === "task" ? null : level, at, text });
}

export function parseImpact(told: URLSearchParams): ImpactView {
  return {
    node: told.get("node") ?? "",
    field: told.get("column"),
    level: told.get("level") ?? "task",
    at: told.get("at"),
    text: told.get("text") ?? "",
  };
}

export function provenanceOf(node: string, others: Partial<ProvenanceView> = {}): string {
  return address("/provenance", { node, ...others });
}

export function parseProvenance(told: URLSearchParams): ProvenanceView {
  return { node: told.get("node") ?? "", version: told.get("version"), at: told.get("at") };
}

export interface FoundView {
  text: string;
  /** Where it is looked for; null: everywhere. */
  kind: string | null;
  /** Whether all are listed that the API gives at once. */
  isLong: boolean;
}

export function foundOf(text: string, { kind = null, isLong = false }: Partial<FoundView> = {}): string {
  return address("/search", { text, in: kind, list: isLong ? "long" : null });
}

export function parseFound(told: URLSearchParams): FoundView {
  return { text: told.get("text") ?? "", kind: told.get("in"), isLong: told.get("list") === "long" };
}

function address(path: string, values: Record<string, string | null | undefined>): string {
  const told = Object.entries(values).filter((each): each is [string, string] => Boolean(each[1]));
  return `${path}?${new URLSearchParams(told).toString()}`;
}
