import { parts } from "./words";
import type { Answer } from "../api/client";
import { graphOf } from "./impact";
import type { NodeId } from "./types";
import { addressOf } from "./view";

export type Hit = Answer<"search">["items"][number];

/** Labels of the parts of a node that a search matched. */
export const PLACES: Record<string, string> = { name: "Name", column: "Column", tag: "Tag", owner: "Owner", description: "Description", sql: "SQL", error: "Error", run: "Run", version: "Version" };

/** Return the address of a hit; a column has its path locked and its details open, a run and a matched SQL text their details. */
export function addressOfHit(hit: Pick<Hit, "id" | "kind" | "matched" | "text">): string {
  const level = hit.kind === "query" ? { level: "query" as const } : {};
  if (hit.matched === "run") return addressOf(hit.id, { open: `run:${hit.text}`, ...level });
  if (hit.matched === "sql") return addressOf(hit.id, { open: hit.id, ...level });
  if (hit.matched !== "column") return addressOf(hit.id, level);
  return graphOf({ id: hit.id as NodeId, field: hit.text });
}

/** Return the tags to show with a hit: of a column only its own and those of the whole dataset. */
export function tagsOfHit({ matched, text, tags }: Pick<Hit, "matched" | "text" | "tags">): string[] {
  if (matched !== "column") return tags;
  const own = ` (${text})`;
  return [...new Set(tags.flatMap((tag) => (tag.endsWith(own) ? [tag.slice(0, -own.length)] : tag.endsWith(")") ? [] : [tag])))];
}

/** Return the text beside a hit: its parent or the match, or both if another hit has the same name. */
export function besideHit(hit: Pick<Hit, "name" | "namespace" | "type" | "matched" | "text">, hits: readonly Pick<Hit, "name" | "type">[]): string {
  const split = (other: Pick<Hit, "name" | "type">) => parts(other.name, other.type === "job" ? "job" : "dataset");
  const { title, above } = split(hit);
  const where = above || hit.namespace;
  if (hit.matched === "name") return where;
  const found = `${PLACES[hit.matched] ?? hit.matched}: ${hit.text}`;
  return hits.filter((other) => split(other).title === title).length > 1 ? `${where} · ${found}` : found;
}
