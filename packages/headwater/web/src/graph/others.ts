/** The collapsed neighbors on a side of a node, in groups. */
import type { ApiNode, GraphAnswer, NodeId, Side } from "./types";
import { nameOf, parts } from "./words";

export const OTHERS_BY = ["owner", "schema", "pipeline"] as const;
export type OthersBy = (typeof OTHERS_BY)[number];

export interface OtherGroup {
  /** Empty for nodes without a value. */
  key: string;
  nodes: ApiNode[];
}

/** Return the neighbors on a side of a node in a graph around it that are not shown yet, those with problems first. */
export function othersOf({ roots, nodes, edges }: GraphAnswer, side: Side, shown: ReadonlySet<string>): ApiNode[] {
  const [near, far] = side === "down" ? (["from", "to"] as const) : (["to", "from"] as const);
  const ids = new Set(edges.filter((edge) => edge.kind === "data" && roots.includes(edge[near])).map((edge) => edge[far]));
  const isFine = ({ health }: ApiNode) => Number(!WRONG.has(health.state));
  return nodes.filter(({ id }) => ids.has(id) && !shown.has(id)).sort((a, b) => isFine(a) - isFine(b) || a.name.localeCompare(b.name));
}

const WRONG: ReadonlySet<string> = new Set(["failed", "failed_checks", "blocked", "late"]);

/** Group nodes, largest group first; a node with two owners is in both groups. Every word of the text must occur in a name, owner, tag or group. */
export function otherGroups(nodes: readonly ApiNode[], by: OthersBy, text: string): OtherGroup[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, ApiNode[]>();
  for (const node of nodes) {
    for (const key of keysOf(node, by)) {
      const all = [node.name, node.namespace, key, ...node.owners, ...node.tags].join(" ").toLowerCase();
      if (words.every((word) => all.includes(word))) groups.set(key, [...(groups.get(key) ?? []), node]);
    }
  }
  return [...groups].map(([key, members]) => ({ key, nodes: members })).sort((a, b) => Number(a.key === "") - Number(b.key === "") || b.nodes.length - a.nodes.length || a.key.localeCompare(b.key));
}

function keysOf({ type, name, owners, pipeline }: ApiNode, by: OthersBy): string[] {
  if (by === "owner") return owners.length > 0 ? owners : [""];
  if (by === "pipeline") return [pipeline === null ? "" : nameOf(pipeline)];
  return [parts(name, type).above];
}

/** Return the ids of nodes. */
export function idsOf(nodes: readonly ApiNode[]): NodeId[] {
  return nodes.map(({ id }) => id as NodeId);
}
