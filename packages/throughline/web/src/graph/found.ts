import type { Answer } from "../api/client";
import { graphOf } from "./impact";
import type { NodeId } from "./types";
import { addressOf } from "./view";

export type Hit = Answer<"search">["items"][number];

/** Where in a node a text was found. */
export const PLACES: Record<string, string> = { name: "Name", column: "Column", tag: "Tag", owner: "Owner", description: "Description", sql: "SQL" };

/** Where a hit leads: a column is shown locked in its dataset, with its details. */
export function addressOfHit(hit: Pick<Hit, "id" | "matched" | "text">): string {
  if (hit.matched !== "column") return addressOf(hit.id);
  return graphOf({ id: hit.id as NodeId, field: hit.text });
}
