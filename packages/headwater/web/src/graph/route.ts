import { GRIPS, sizeOf, type Place } from "./layout";
import type { ColumnEdge, LineageEdge, NodeId } from "./types";
import { neighborsOf } from "./visible";

/** Distance from a corner at which a line begins to turn, in pixels. */
const TURN = 14;
/** Tolerance for level lines, in pixels: the browser measures fractions of pixels. */
const LEVEL = 2;
/** Distance from its ends at which a backward line goes up or down, in pixels. */
const ASIDE = 24;

/** Corners of lines that go around nodes; lines with a clear path are omitted. */
export type Corners = ReadonlyMap<LineageEdge, readonly Place[]>;

/**
 * Route lines between columns along the edges into and out of the job between them.
 *
 * They pass behind the job at different heights. With `heightOf`, the graph goes from top to bottom.
 */
export function throughJobs(lines: readonly ColumnEdge[], edges: readonly LineageEdge[], corners: Corners, places: ReadonlyMap<NodeId, Place>, heightOf: ((id: string) => number) | null = null): Map<ColumnEdge, Place[]> {
  if (lines.length === 0) return new Map();
  const data = edges.filter((edge) => edge.kind === "data");
  const near = neighborsOf(data);
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
      const cornersBetween = (from: string, to: string) => corner.get(`${from} ${to}`) as readonly Place[];
      const [start, end] = [places.get(line.from.id as NodeId), places.get(line.to.id as NodeId)];
      if (heightOf && start && end) {
        found.set(line, downward({ start, job: at, end }, heightOf(line.from.id), [cornersBetween(line.from.id, job), cornersBetween(job, line.to.id)], place));
        return;
      }
      const y = at.y + (sizeOf(null).height * (place + 1)) / (through.length + 1);
      const behind = leadsOn(line, places) ? [{ x: at.x, y }, { x: at.x + GRIPS.right.x, y }] : [];
      found.set(line, [...cornersBetween(line.from.id, job), ...behind, ...cornersBetween(job, line.to.id)]);
    });
  }
  return found;
}

interface Ends {
  start: Place;
  job: Place;
  end: Place;
}

/** Route a line between columns from top to bottom: below its node, behind the job, and above the other node. */
function downward({ start, job, end }: Ends, height: number, [into, out]: [readonly Place[], readonly Place[]], place: number): Place[] {
  const middle = ({ x }: Place) => x + GRIPS.top.x + (place % 8) * 4 - TURN;
  const [below, above] = [start.y + height + 10 + (place % 4) * 2, end.y - 8 - (place % 4) * 2];
  return [
    { x: start.x + GRIPS.right.x, y: below },
    { x: middle(start), y: below },
    ...into,
    { x: middle(job), y: job.y },
    { x: middle(job), y: job.y + sizeOf(null).height },
    ...out,
    { x: middle(end), y: above },
    { x: end.x, y: above },
  ];
}

/** Return the SVG path of a line that leaves its node at the right and enters the other from the left. */
export function besidePath(from: Place, corners: readonly Place[], to: Place): string {
  return backPath(from, corners, to, (command, ...points) => command + points.map(({ x, y }) => `${x} ${y}`).join(" "));
}

/** Return true if a line goes to the right, so that it can pass behind its job. */
function leadsOn({ from, to }: ColumnEdge, places: ReadonlyMap<NodeId, Place>): boolean {
  const [start, end] = [places.get(from.id as NodeId), places.get(to.id as NodeId)];
  return start !== undefined && end !== undefined && start.x < end.x;
}

/** Return the SVG path of a line; with `isDown`, from the bottom of one node to the top of another. */
export function linePath(from: Place, corners: readonly Place[], to: Place, isDown = false): string {
  const turn = ({ x, y }: Place): Place => (isDown ? { x: y, y: x } : { x, y });
  const write: Write = (command, ...points) => command + points.map(turn).map(({ x, y }) => `${x} ${y}`).join(" ");
  const points = [from, ...corners, to].map(turn);
  const [start, end] = [turn(from), turn(to)];
  if (isSquare(points)) return routed(points, write);
  if (end.x < start.x) return backPath(start, corners.map(turn), end, write);
  const curves = points.slice(1).map((point, at) => {
    const before = points[at] as Place;
    const middle = (before.x + point.x) / 2;
    return write("C", { x: middle, y: before.y }, { x: middle, y: point.y }, point);
  });
  return `${write("M", start)}${curves.join("")}`;
}

type Write = (command: string, ...points: Place[]) => string;

/** Return true if a line goes around rows of nodes: it starts level and has a straight segment across. */
function isSquare([from, ...rest]: readonly Place[]): boolean {
  const corners = rest.slice(0, -1);
  return from !== undefined && Math.abs((corners[0] ?? from).y - from.y) < LEVEL && corners.some((corner, at) => corners[at + 1]?.x === corner.x);
}

/** Return the path of a backward line, which leaves at the right and enters from the left to avoid both nodes. */
function backPath(from: Place, corners: readonly Place[], to: Place, write: Write): string {
  const [out, into] = [from.x + ASIDE, to.x - ASIDE];
  const [first, last] = [corners[0] ?? from, corners.at(-1) ?? from];
  return routed([from, { x: out, y: from.y }, { x: out, y: first.y }, ...corners, { x: into, y: last.y }, { x: into, y: to.y }, to], write);
}

/** Return a path through points with rounded corners. */
function routed(points: readonly Place[], write: Write): string {
  return points
    .map((point, at) => {
      const [before, after] = [points[at - 1], points[at + 1]];
      if (!before) return write("M", point);
      if (!after) return write("L", point);
      const [start, end] = [toward(point, before), toward(point, after)];
      return write("L", start) + write("Q", point, end);
    })
    .join("");
}

/** Return the point at `TURN` from one point toward another, at most halfway. */
function toward(from: Place, to: Place): Place {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const part = length === 0 ? 0 : Math.min(TURN / length, 0.5);
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}
