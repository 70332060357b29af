/** The state of the roll-up map in its address, and texts of its groups. */
import type { Answer } from "../api/client";
import { plural } from "./words";

export type MapItem = Answer<"map">["items"][number];
type Problems = MapItem["problems"];
type Grouping = Answer<"map">["by"];

export const GROUPINGS: readonly Grouping[] = ["platform", "owner", "domain"];

export interface MapView {
  by: Grouping;
  /** Keys of the groups, from the outside to the inside. */
  path: string[];
  /** Keys of hidden items. */
  hidden: string[];
  /** Cursors of the pages up to the current one. */
  after: string[];
}

export function parseMap(params: URLSearchParams): MapView {
  const by = GROUPINGS.find((name) => name === params.get("by")) ?? "platform";
  return { by, path: params.getAll("path"), hidden: params.getAll("hidden"), after: params.getAll("after") };
}

/** Return the address of a map; a new path has no hidden items and begins at the first page. */
export function mapAddress({ by = "platform", path = [], hidden = [], after = [] }: Partial<MapView>): string {
  const params = new URLSearchParams();
  if (by !== "platform") params.append("by", by);
  for (const [name, values] of [["path", path], ["hidden", hidden], ["after", after]] as const) {
    for (const value of values) params.append(name, value);
  }
  const text = params.toString();
  return text ? `/map?${text}` : "/map";
}

/** States by severity, with their labels. */
const LABELS = [
  ["failed", "failed"],
  ["failed_checks", "failed checks"],
  ["blocked", "blocked"],
  ["late", "late"],
] as const;

/** Format the number of problems: 2 failed, 4 blocked; empty if there is none. */
export function problemsText(problems: Problems): string {
  return LABELS.flatMap(([state, label]) => (problems[state] > 0 ? [`${problems[state].toLocaleString("en")} ${label}`] : [])).join(", ");
}

/** Return the most severe problem; null if there is none. */
export function worstOf(problems: Problems): keyof Problems | null {
  return LABELS.find(([state]) => problems[state] > 0)?.[0] ?? null;
}

/** Return true for a group with other groups or nodes in it. */
export function isGroup({ kind }: Pick<MapItem, "kind">): boolean {
  return kind !== "dataset" && kind !== "task";
}

/** Format the size of a group. */
export function sizeText(by: Grouping, count: number): string {
  return plural(count, by === "platform" ? "dataset" : "task");
}

/** Return the label of a key of a path: a schema without its namespace, a pipeline without its id. */
export function keyLabel(key: string, place: number, by: Grouping): string {
  if (place === 0) return key;
  if (by === "platform") return key.slice(key.indexOf(" ") + 1) || key.trim();
  return key.slice(key.lastIndexOf(":") + 1);
}
