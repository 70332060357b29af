import type { ElkNode } from "elkjs/lib/elk-api";
import type { Place } from "./layout";
import type { LineageEdge } from "./types";

/** How far from a corner a line begins to turn. */
const TURN = 14;
/** How far beside its ends a line goes up or down. */
const ASIDE = 24;

/** The corners of lines that lead back, around the nodes between their ends: a line from right to left would lie under these. */
export function backsOf(laid: ElkNode, edges: readonly LineageEdge[]): Map<LineageEdge, Place[]> {
  const found = new Map<LineageEdge, Place[]>();
  for (const { id, sections } of laid.edges ?? []) {
    const [edge, section] = [edges[Number(id)], sections?.[0]];
    if (!edge || !section || section.endPoint.x >= section.startPoint.x) continue;
    const [left, right] = [section.endPoint.x, section.startPoint.x];
    found.set(edge, (section.bendPoints ?? []).filter(({ x }) => x >= left && x <= right));
  }
  return found;
}

/** The SVG path of a line that leads back: out of its node, by its corners, and into the other from the left. */
export function backPath(from: Place, corners: readonly Place[], to: Place): string {
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
