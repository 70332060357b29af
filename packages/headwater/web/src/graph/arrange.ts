import type { ElkNode } from "elkjs/lib/elk-api";
import { between, blockOf, entry, exit, FRAME, toElk, type Block, type Item, type Link, type Point, type Spot } from "./block";
import { framesOf, type Frame } from "./groups";
import { LEAST_WHOLE, sizeOf, WIDTH, type Box, type Place } from "./layout";
import type { Direction, LineageEdge, LineageNode, NodeId } from "./types";
import { neighborsOf } from "./visible";

/** The size of the drawing area, in pixels. */
export interface Room {
  width: number;
  height: number;
}

export interface FrameBox extends Box {
  frame: Frame;
}

/** The positions of nodes, frames and edge corners. */
export interface Arrangement {
  places: Map<NodeId, Place>;
  frames: FrameBox[];
  corners: Map<LineageEdge, readonly Place[]>;
  direction: Direction;
}

export type LayOut = (graph: ElkNode) => Promise<ElkNode>;

/** Below this width the graph is one node wide and scrolls vertically. */
const NARROW = 600;
/** A graph that fits at this zoom is one line. */
const ONE_LINE = 0.8;
/** Free space around a graph, in pixels. */
const MARGIN = { width: 56, height: 92 };

/** Space inside a frame; its name is above its nodes. */
const PADS = { right: { u: 26, v: 36, ends: { u: 26, v: 22 } }, down: { u: 44, v: 24, ends: { u: 26, v: 24 } } };

/** Return the direction that suits a window. */
export function directionFor({ width, height }: Room): Direction {
  return width < NARROW || width * 1.4 < height ? "down" : "right";
}

/**
 * Lay out a graph with pipelines as frames: in one line, or in rows of whole pipelines if only these fit into the window.
 *
 * First the inside of each frame is laid out, then the frames and the nodes outside. Of the possible numbers of rows, the one with the
 * largest zoom is chosen. `columnsOf` returns the number of columns that a dataset shows; `layOut` runs elk.
 */
export async function arrange(nodes: readonly LineageNode[], edges: readonly LineageEdge[], columnsOf: (id: NodeId) => number | null, { direction, room }: { direction: Direction; room: Room }, layOut: LayOut): Promise<Arrangement> {
  const plan = new Plan(nodes, edges, columnsOf, direction);
  const free = { width: room.width - MARGIN.width, height: room.height - MARGIN.height };
  const [along, across] = direction === "right" ? [free.width, free.height] : [free.height, free.width];
  const isNarrow = direction === "down" && room.width < NARROW;
  const inner = await Promise.all(plan.frames.map((frame) => layOut(plan.inside(frame))));
  const blocks = new Map(plan.frames.map(({ id }, nth) => [id, blockOf(inner[nth] as ElkNode, 1, isNarrow ? WIDTH : Infinity)] as const));
  const laid = await layOut(plan.outside(blocks));
  const line = blockOf(laid, 1, isNarrow ? WIDTH + 2 * PADS.down.v : Infinity);
  const zoomOf = (block: Block) => Math.min(ONE_LINE, along / block.along, across / block.across);
  if (isNarrow || zoomOf(line) === ONE_LINE) return plan.placed({ blocks, block: line });
  const wrapped = plan.frames.slice(1).map((_, nth) => blockOf(laid, nth + 2));
  const [best = line] = [line, ...wrapped].toSorted((a, b) => zoomOf(b) - zoomOf(a));
  return plan.placed({ blocks, block: zoomOf(best) < LEAST_WHOLE ? line : best });
}

/** A graph, measured along and across its direction. */
class Plan {
  readonly frames: Frame[];
  private readonly owner: Map<NodeId, NodeId>;
  private readonly items: Map<NodeId, Item>;
  /** Control edges parallel to a data path: they do not affect the layout. */
  private readonly implied: ReadonlySet<number>;
  private readonly grip: number;
  private readonly pads;

  constructor(nodes: readonly LineageNode[], private readonly edges: readonly LineageEdge[], columnsOf: (id: NodeId) => number | null, private readonly direction: Direction) {
    this.frames = framesOf(nodes, edges);
    this.owner = new Map(this.frames.flatMap(({ id, members }) => members.map((member) => [member, id])));
    this.implied = impliedOf(edges);
    this.grip = direction === "right" ? sizeOf(null).height / 2 : WIDTH / 2;
    this.pads = PADS[direction];
    const sized = (id: NodeId): Item => {
      const { width, height } = sizeOf(columnsOf(id));
      return direction === "right" ? { id, along: width, across: height } : { id, along: height, across: width };
    };
    this.items = new Map(nodes.map(({ id }) => [id, sized(id)]));
  }

  /** Return the elk graph inside a frame. */
  inside({ id, members }: Frame): ElkNode {
    const links = this.edges.flatMap(({ from, to }, key): Link[] => (!this.implied.has(key) && this.owner.get(from) === id && this.owner.get(to) === id ? [{ key, from, to, out: this.grip, into: this.grip }] : []));
    return toElk(members.map((member) => this.items.get(member) as Item), links);
  }

  /** Return the elk graph of the frames and the nodes outside them. */
  outside(blocks: ReadonlyMap<NodeId, Block>): ElkNode {
    const { pads } = this;
    const frames = [...blocks].map(([id, { along, across }]): Item => ({ id: `${FRAME}${id}`, along: along + pads.u + pads.ends.u, across: across + pads.v + pads.ends.v }));
    const loose = [...this.items.values()].filter(({ id }) => !this.owner.has(id as NodeId));
    const links = this.edges.flatMap((edge, key): Link[] => {
      if (this.isInside(edge) || this.implied.has(key)) return [];
      const [from, to] = [this.end(edge.from, blocks, key, exit), this.end(edge.to, blocks, key, entry)];
      return [{ key, from: from.item, to: to.item, out: from.v, into: to.v }];
    });
    return toElk([...loose, ...frames], links);
  }

  private isInside({ from, to }: LineageEdge): boolean {
    return this.owner.has(from) && this.owner.get(from) === this.owner.get(to);
  }

  /** Return the end of an edge at a node, or at the frame around it, with the points between the two. */
  private end(id: NodeId, blocks: ReadonlyMap<NodeId, Block>, key: number, routeOf: typeof exit): { item: string; v: number; points: Point[] } {
    const frame = this.owner.get(id);
    if (!frame) return { item: id, v: this.grip, points: [] };
    const block = blocks.get(frame) as Block;
    const spot = block.spots.get(id) as Spot;
    const { points, v } = routeOf(block, spot, spot.v + this.grip, key);
    return { item: `${FRAME}${frame}`, v: v + this.pads.v, points };
  }

  /** Convert the chosen layout to positions on the page: that of frames and loose nodes (`block`), and the inside of frames (`blocks`). */
  placed({ blocks, block }: { blocks: ReadonlyMap<NodeId, Block>; block: Block }): Arrangement {
    const { pads, direction } = this;
    const page = ({ u, v }: Point): Place => (direction === "right" ? { x: u, y: v } : { x: v, y: u });
    const places = new Map<NodeId, Place>();
    const frames: FrameBox[] = [];
    const origins = new Map<NodeId, Point>();
    for (const spot of block.spots.values()) if (!spot.id.startsWith(FRAME)) places.set(spot.id as NodeId, page(spot));
    for (const frame of this.frames) {
      const { u, v, along, across } = block.spots.get(`${FRAME}${frame.id}`) as Spot;
      const [width, height] = direction === "right" ? [along, across] : [across, along];
      frames.push({ frame, ...page({ u, v }), width, height });
      origins.set(frame.id, { u: u + pads.u, v: v + pads.v });
      for (const spot of (blocks.get(frame.id) as Block).spots.values()) places.set(spot.id as NodeId, page({ u: u + pads.u + spot.u, v: v + pads.v + spot.v }));
    }
    const corners = new Map<LineageEdge, readonly Place[]>();
    this.edges.forEach((edge, key) => {
      const points = this.isInside(edge) ? this.within(edge, key, blocks, origins) : this.across(edge, key, blocks, block, origins);
      if (points.length > 0) corners.set(edge, points.map(page));
    });
    return { places, frames, corners, direction };
  }

  /** Return the corners of an edge inside a frame. */
  private within({ from, to }: LineageEdge, key: number, blocks: ReadonlyMap<NodeId, Block>, origins: ReadonlyMap<NodeId, Point>): Point[] {
    const frame = this.owner.get(from) as NodeId;
    const block = blocks.get(frame) as Block;
    const [start, end] = [block.spots.get(from), block.spots.get(to)] as [Spot, Spot];
    return between(block, start, start.v + this.grip, end, end.v + this.grip, key).map(moved(origins.get(frame) as Point));
  }

  /** Return the corners of any other edge: out of its frame, between the frames or nodes, and into the other frame. */
  private across({ from, to }: LineageEdge, key: number, blocks: ReadonlyMap<NodeId, Block>, block: Block, origins: ReadonlyMap<NodeId, Point>): Point[] {
    const [out, into] = [this.end(from, blocks, key, exit), this.end(to, blocks, key, entry)];
    const [start, end] = [block.spots.get(out.item), block.spots.get(into.item)] as [Spot, Spot];
    const origin = (id: NodeId) => origins.get(this.owner.get(id) as NodeId) as Point;
    const [leave, arrive] = [start.v + out.v, end.v + into.v];
    const middle = between(block, start, leave, end, arrive, key);
    // Inside a frame an edge is level; it turns at the border.
    const first = this.owner.has(from) ? [...out.points.map(moved(origin(from))), { u: start.u + start.along, v: leave }] : [];
    const last = this.owner.has(to) ? [{ u: end.u, v: arrive }, ...into.points.map(moved(origin(to)))] : [];
    return [...first, ...middle, ...last];
  }
}

/** Return the places of the control edges that are parallel to a path of two data edges. */
function impliedOf(edges: readonly LineageEdge[]): Set<number> {
  const { down } = neighborsOf(edges.filter((edge) => edge.kind === "data"));
  const isImplied = ({ from, to, kind }: LineageEdge) => kind === "control" && (down.get(from) ?? []).some((id) => down.get(id)?.includes(to));
  return new Set(edges.flatMap((edge, key) => (isImplied(edge) ? [key] : [])));
}

function moved(origin: Point): (point: Point) => Point {
  return ({ u, v }) => ({ u: u + origin.u, v: v + origin.v });
}
