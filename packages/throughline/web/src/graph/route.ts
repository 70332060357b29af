import type { ElkNode } from "elkjs/lib/elk-api";
import { GRIPS, sizeOf, type Place } from "./layout";
import type { ColumnEdge, LineageEdge, NodeId } from "./types";
import { neighboursOf } from "./visible";

/** How far from a corner a line begins to turn. */
const TURN = 14;
/** How far beside its ends a line that leads back goes up or down. */
const ASIDE = 24;

/** Where lines go between their ends so that no node lies over them; those that have a clear way are left out. */
export type Corners = ReadonlyMap<LineageEdge, readonly Place[]>;

/** The corners of lines that lead back or lead on over several layers, as elk has found them. */
export function cornersOf(laid: ElkNode, edges: readonly LineageEdge[]): Map<LineageEdge, Place[]> {
  const found = new Map<LineageEdge, Place[]>();
  for (const { id, sections } of laid.edges ?? []) {
    const [edge, section] = [edges[Number(id)], sections?.[0]];
    if (!edge || !section) continue;
    const isBack = section.endPoint.x <= section.startPoint.x;
    const [left, right] = [section.startPoint.x, section.endPoint.x].sort((a, b) => a - b) as [number, number];
    const corners = (section.bendPoints ?? []).filter(({ x }) => x >= left && x <= right);
    if (isBack || corners.length > 0) found.set(edge, corners);
  }
  return found;
}

/**
 * Where lines between columns go: by the way of the line into the job that makes one of the other, behind
 * that job, each at a height of its own, and by the way of the line out of it.
 */
export function throughJobs(lines: readonly ColumnEdge[], edges: readonly LineageEdge[], corners: Corners, places: ReadonlyMap<NodeId, Place>): Map<ColumnEdge, Place[]> {
  if (lines.length === 0) return new Map();
  const data = edges.filter((edge) => edge.kind === "data");
  const near = neighboursOf(data);
  const corner = new Map(data.map((edge) => [`${edge.from} ${edge.to}`, corners.get(edge) ?? []]));
  const byJob = new Map<NodeId, ColumnEdge[]>();
  for (const line of lines) {
    const readers = new Set(near.down.get(line.from.id as NodeId));
    const job = near.up.get(line.to.id as NodeId)?.find((id) => readers.has(id));
    if (job) byJob.set(job, [...(byJob.get(job) ?? []), line]);
  }
  const found = new Map<ColumnEdge, Place[]>();
  for (const [job, through] of byJob) {
    const at = places.get(job);
    if (!at) continue;
    through.forEach((line, place) => {
      const y = at.y + (sizeOf(null).height * (place + 1)) / (through.length + 1);
      const wayOf = (from: string, to: string) => corner.get(`${from} ${to}`) as readonly Place[];
      const behind = leadsOn(line, places) ? [{ x: at.x, y }, { x: at.x + GRIPS.right.x, y }] : [];
      found.set(line, [...wayOf(line.from.id, job), ...behind, ...wayOf(job, line.to.id)]);
    });
  }
  return found;
}

function leadsOn({ from, to }: ColumnEdge, places: ReadonlyMap<NodeId, Place>): boolean {
  const [start, end] = [places.get(from.id as NodeId), places.get(to.id as NodeId)];
  return start !== undefined && end !== undefined && start.x < end.x;
}

/** The SVG path of a line by its corners. */
export function linePath(from: Place, corners: readonly Place[], to: Place): string {
  if (to.x < from.x) return backPath(from, corners, to);
  const points = [from, ...corners, to];
  const curves = points.slice(1).map((point, at) => {
    const before = points[at] as Place;
    const middle = (before.x + point.x) / 2;
    return `C${middle} ${before.y} ${middle} ${point.y} ${point.x} ${point.y}`;
  });
  return `M${from.x} ${from.y}${curves.join("")}`;
}

/** Out of its node, by its corners, and into the other from the left: a line from right to left would lie under these. */
function backPath(from: Place, corners: readonly Place[], to: Place): string {
  const [out, into] = [from.x + ASIDE, to.x - ASIDE];
  const [first, last] = [corners[0] ?? from, corners.at(-1) ?? from];
  return routed([from, { x: out, y: from.y }, { x: out, y: first.y }, ...corners, { x: into, y: last.y }, { x: into, y: to.y }, to]);
}

/** A path through points, round at its corners. */
function routed(points: readonly Place[]): string {
  return points
    .map((point, at) => {
      const [before, after] = [points[at - 1], points[at + 1]];
      if (!before) return `M${point.x} ${point.y}`;
      if (!after) return `L${point.x} ${point.y}`;
      const [start, end] = [toward(point, before), toward(point, after)];
      return `L${start.x} ${start.y}Q${point.x} ${point.y} ${end.x} ${end.y}`;
    })
    .join("");
}

/** A point on the way to another, a turn away from it or half of the way. */
function toward(from: Place, to: Place): Place {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const part = length === 0 ? 0 : Math.min(TURN / length, 0.5);
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}
