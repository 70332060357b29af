import type { FrameBox } from "./arrange";
import type { LineageNode } from "./types";

/** Problems of a node, worst first. */
export const TROUBLES = ["failed", "check", "blocked", "late", "stale"] as const;
export type Trouble = (typeof TROUBLES)[number];

export const TROUBLE_TEXT: Record<Trouble, string> = { failed: "Failed", check: "Failed checks", blocked: "Not rebuilt", late: "Late", stale: "No end event" };

const OF_HEALTH: Partial<Record<LineageNode["health"]["state"], Trouble>> = { failed: "failed", failed_checks: "check", blocked: "blocked", late: "late" };

/** Return true if a state is a problem. */
export function isProblem({ state }: Pick<LineageNode["health"], "state">): boolean {
  return OF_HEALTH[state] !== undefined;
}

/** Return the problem of a node by its state, or a run without an end event. */
export function troubleOf(node: LineageNode): Trouble | null {
  return OF_HEALTH[node.health.state] ?? (node.type === "job" && node.run?.state === "LOST" ? "stale" : null);
}

/** Return true if a node shows its problem nowhere else: a failed run and failed checks are shown as such. */
export function needsMark(node: LineageNode, trouble: Trouble): boolean {
  if (trouble === "failed") return !(node.type === "job" && ["FAILED", "ABORTED"].includes(String(node.run?.state)));
  return trouble === "blocked" || trouble === "late";
}

/** Return the problem of a frame: that of its pipeline's own run, not of the nodes that are shown. */
export function troubleOfFrame({ frame }: FrameBox): Trouble | null {
  return (frame.health && OF_HEALTH[frame.health.state]) ?? null;
}
