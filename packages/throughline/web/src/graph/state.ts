import type { FrameBox } from "./arrange";
import type { LineageNode } from "./types";

/** Problems of a node, worst first. */
export const TROUBLES = ["failed", "check", "stale", "late"] as const;
export type Trouble = (typeof TROUBLES)[number];

export const TROUBLE_TEXT: Record<Trouble, string> = { failed: "Failed", check: "Check failed", stale: "No end event", late: "Late" };

/** Return the problem of a node: a failed run, a failed check, a run without an end event, or a late job. */
export function troubleOf(node: LineageNode, late: ReadonlySet<string>): Trouble | null {
  if (node.type === "dataset") return node.failedChecks ? "check" : null;
  const { run, group } = node;
  if (run?.state === "FAILED" || run?.state === "ABORTED") return "failed";
  if (group?.failedChecks) return "check";
  if (run?.state === "LOST") return "stale";
  return [node.id, ...(group?.members ?? [])].some((id) => late.has(id)) ? "late" : null;
}

/** Return the worst problem inside a frame. */
export function troubleOfFrame({ frame }: FrameBox, troubles: ReadonlyMap<string, Trouble | null>, late: ReadonlySet<string>): Trouble | null {
  const found = new Set([...frame.members.map((id) => troubles.get(id) ?? null), late.has(frame.id) ? "late" : null]);
  return TROUBLES.find((trouble) => found.has(trouble)) ?? null;
}
