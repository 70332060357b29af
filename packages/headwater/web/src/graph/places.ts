/** Addresses of the pages other than the graph; an address contains the whole state of its page. */

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

export function parseImpact(params: URLSearchParams): ImpactView {
  return {
    node: params.get("node") ?? "",
    field: params.get("column"),
    level: params.get("level") ?? "task",
    at: params.get("at"),
    text: params.get("text") ?? "",
  };
}

/** Return the address of the list of a job's runs. */
export function runsOf(job: string): string {
  return address("/runs", { job });
}

export function provenanceOf(node: string, others: Partial<ProvenanceView> = {}): string {
  return address("/provenance", { node, ...others });
}

export function parseProvenance(params: URLSearchParams): ProvenanceView {
  return { node: params.get("node") ?? "", version: params.get("version"), at: params.get("at") };
}

export interface VersionView {
  /** DATASET@VERSION, or a version alone. */
  version: string;
  at: string | null;
}

export function versionOf(version: string, at: string | null = null): string {
  return address("/version", { version, at });
}

export function parseVersion(params: URLSearchParams): VersionView {
  return { version: params.get("version") ?? "", at: params.get("at") };
}

export interface IncidentView {
  /** A version, the id of a run, or the id of a dataset or job with a failed check. */
  subject: string;
  at: string | null;
}

export function incidentOf(subject: string, at: string | null = null): string {
  return address("/incident", { subject, at });
}

export function parseIncident(params: URLSearchParams): IncidentView {
  return { subject: params.get("subject") ?? "", at: params.get("at") };
}

export interface FoundView {
  text: string;
  /** Kind of matches to search for; null for all kinds. */
  kind: string | null;
  /** True to list as many results as the API returns in one response. */
  isLong: boolean;
}

export function foundOf(text: string, { kind = null, isLong = false }: Partial<FoundView> = {}): string {
  return address("/search", { text, in: kind, list: isLong ? "long" : null });
}

export function parseFound(params: URLSearchParams): FoundView {
  return { text: params.get("text") ?? "", kind: params.get("in"), isLong: params.get("list") === "long" };
}

function address(path: string, values: Record<string, string | null | undefined>): string {
  const entries = Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return `${path}?${new URLSearchParams(entries).toString()}`;
}
