/** Sides of nodes, and neighbors picked from the collapsed ones of a side; both are in the address. */
import type { NodeId, Side } from "./types";

/** A node and a side of it, as `up:ID` or `down:ID`. */
export type Grip = `${Side}:${string}`;

/** A neighbor on a side of a node. */
export interface Pick {
  of: Grip;
  node: NodeId;
}

export function isGrip(text: string): text is Grip {
  return text.startsWith("up:") || text.startsWith("down:");
}

export function formatGrip(side: Side, id: string): Grip {
  return `${side}:${id}`;
}

/** Return the side and the node of a grip. */
export function parseGrip(grip: Grip): [Side, NodeId] {
  const at = grip.indexOf(":");
  return [grip.slice(0, at) as Side, grip.slice(at + 1) as NodeId];
}

export function formatPick({ of, node }: Pick): string {
  return new URLSearchParams({ of, node }).toString();
}

/** Return the pick of a parameter; none if it is invalid. */
export function parsePick(written: string): Pick[] {
  const params = new URLSearchParams(written);
  const [of, node] = [params.get("of") ?? "", params.get("node")];
  return node && isGrip(of) ? [{ of, node: node as NodeId }] : [];
}

/** Add some of the collapsed neighbors on a side of a node to the picked ones. */
export function pick(picks: readonly Pick[], of: Grip, nodes: readonly NodeId[]): Pick[] {
  const isPicked = (node: NodeId) => picks.some((other) => other.of === of && other.node === node);
  return [...picks, ...nodes.filter((node) => !isPicked(node)).map((node) => ({ of, node }))];
}
