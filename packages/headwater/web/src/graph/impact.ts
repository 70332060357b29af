import type { Answer } from "../api/client";
import { isProblem } from "./state";
import { columnTags, datasetTags, isPii } from "./tags";
import type { NodeId, RunLine } from "./types";
import { columnKey, openColumn } from "./lit";
import { addressOf } from "./view";
import { parts, plural } from "./words";
import { transformationName } from "./transformation";

type ImpactAnswer = Answer<"impact">;

/** A downstream node or column. */
export interface Reached {
  key: string;
  id: NodeId;
  type: "job" | "dataset" | "column";
  kind: string;
  title: string;
  above: string;
  namespace: string;
  field: string | null;
  distance: number;
  owners: string[];
  /** True if it has no owners and those of the writing job are used. */
  isByJob: boolean;
  tags: string[];
  isPii: boolean;
  how: string;
  run: RunLine | null;
  health: Entry["health"];
}

export interface OwnerGroup {
  /** Null if no owner is reported. */
  owner: string | null;
  reached: Reached[];
}

type Entry = ImpactAnswer["affected"][number];

/** Convert the API's impact entries for display: one per node or column, with all its transformations. */
export function reachedOf(entries: readonly Entry[]): Reached[] {
  const all = new Map<string, Reached>();
  for (const reached of entries.map(toReached)) {
    const other = all.get(reached.key);
    const how = [...new Set([other?.how, reached.how].filter(Boolean).flatMap((text) => String(text).split(", ")))].join(", ");
    all.set(reached.key, { ...(other ?? reached), how, distance: Math.min(other?.distance ?? Infinity, reached.distance) });
  }
  return [...all.values()];
}

function toReached(entry: Entry): Reached {
  const { title, above } = parts(entry.name, entry.type === "job" ? "job" : "dataset");
  const { tags, jobOwners, field } = entry;
  const isByJob = entry.owners.length === 0 && jobOwners.length > 0;
  return {
    key: `${entry.id} ${field ?? ""}`,
    id: entry.id as NodeId,
    type: entry.type,
    kind: entry.kind,
    title,
    above,
    namespace: entry.namespace,
    field,
    distance: entry.distance,
    owners: isByJob ? jobOwners : entry.owners,
    isByJob,
    tags: field === null ? datasetTags(tags, entry.id) : columnTags(tags, entry.id),
    isPii: tags.some(isPii),
    how: transformationName(entry.transformation),
    run: entry.run ?? entry.writtenBy,
    health: entry.health,
  };
}

/** Filter by text: every word must occur in a name, kind, owner, tag or transformation. */
export function filterByText(reached: readonly Reached[], text: string): Reached[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return reached.filter((entry) => {
    const all = [entry.title, entry.above, entry.field, entry.type, entry.kind, entry.how, ...entry.owners, ...entry.tags].join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** Group by owner, largest group first, entries without owner last; entries with two owners are in both groups. */
export function byOwner(reached: readonly Reached[]): OwnerGroup[] {
  const groups = new Map<string | null, Reached[]>();
  for (const entry of reached) {
    for (const owner of entry.owners.length > 0 ? entry.owners : [null]) groups.set(owner, [...(groups.get(owner) ?? []), entry]);
  }
  const order = (group: OwnerGroup) => (group.owner === null ? 0 : group.reached.length);
  return [...groups].map(([owner, all]) => ({ owner, reached: all })).sort((a, b) => order(b) - order(a) || String(a.owner).localeCompare(String(b.owner)));
}

/** Summarize entries: 3 columns of 2 datasets, 1 job · 2 owners · up to 4 steps away. */
export function countLine(reached: readonly Reached[]): string {
  const of = (type: Reached["type"]) => reached.filter((entry) => entry.type === type);
  const columns = of("column");
  const named = new Set(columns.map((column) => column.id)).size;
  const owners = new Set(reached.flatMap((entry) => entry.owners)).size;
  const unowned = reached.filter((entry) => entry.owners.length === 0).length;
  const tagged = reached.filter((entry) => entry.isPii).length;
  const what = [
    columns.length > 0 && `${plural(columns.length, "column")} of ${plural(named, "dataset")}`,
    of("dataset").length > 0 && plural(of("dataset").length, "dataset"),
    of("job").length > 0 && plural(of("job").length, "job"),
  ];
  return [
    what.filter(Boolean).join(", "),
    owners > 0 && plural(owners, "owner"),
    unowned > 0 && `${unowned.toLocaleString("en")} without an owner`,
    `up to ${plural(Math.max(...reached.map((entry) => entry.distance)), "step")} away`,
    tagged > 0 && `${tagged.toLocaleString("en")} with PII`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Return the address of the graph around an entry; a column has its path locked and its details open. */
export function graphOf({ id, field }: Pick<Reached, "id" | "field">, at: string | null = null): string {
  if (field === null) return addressOf(id, { at });
  return addressOf(id, { columns: [id], column: columnKey(id, field), open: openColumn(id, field), at });
}

/** Format as text, one line per entry below its owner. */
export function impactText(heading: string, reached: readonly Reached[]): string {
  const lines = byOwner(reached).flatMap(({ owner, reached: all }) => [
    "",
    owner ?? "No owner",
    ...all.map((entry) => {
      const name = [entry.above, entry.title].filter(Boolean).join(".");
      const about = [entry.kind, entry.how, isProblem(entry.health) ? entry.health.message : entry.run?.state.toLowerCase(), ...entry.tags].filter(Boolean).join(", ");
      return `  ${entry.distance}  ${name}${entry.field ? ` ${entry.field}` : ""} (${about})`;
    }),
  ]);
  return [heading, ...lines].join("\n");
}
