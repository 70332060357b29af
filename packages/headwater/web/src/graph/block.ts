/**
 * The layout of items (nodes, and frames around nodes) in layers, and the routes of links between them.
 *
 * Places are (u, v): u goes along the direction of the data, v across it. `arrange.ts` converts them to x and y. elk is the layout
 * library; a port is a point of an item at which a link ends.
 */

import type { ElkNode, ElkPort } from "elkjs/lib/elk-api";

/** A node or a frame, measured along the direction of the data and across it. */
export interface Item {
  id: string;
  along: number;
  across: number;
}

/** An edge between two items; `out` and `into` are the offsets across at which it leaves and enters. */
export interface Link {
  key: number;
  from: string;
  to: string;
  out: number;
  into: number;
}

export interface Point {
  u: number;
  v: number;
}

/** A positioned item: its row of the wrapped graph and its layer in that row. */
export interface Spot extends Item, Point {
  row: number;
  layer: number;
}

interface Range {
  start: number;
  end: number;
}

/** Items in layers along the direction; a block that is too long wraps to the next row. */
export interface Block {
  spots: Map<string, Spot>;
  rows: (Range & { layers: Range[] })[];
  /** Bends computed by elk, for links within one row. */
  bends: Map<number, Point[]>;
  along: number;
  across: number;
}

const GAP = { layer: 36, row: 36, item: 20 };
const LARGE = 300;

/** Build the elk graph of items and links, in layers along the direction. */
export function toElk(items: readonly Item[], links: readonly Link[]): ElkNode {
  const isLarge = items.length > LARGE;
  const ports = portsOf(items, links);
  return {
    id: "graph",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.layered.spacing.nodeNodeBetweenLayers": String(GAP.layer),
      "elk.spacing.nodeNode": String(GAP.item),
      // The better settings for small graphs take four times as long with 1,000 nodes.
      "elk.layered.nodePlacement.strategy": isLarge ? "SIMPLE" : "NETWORK_SIMPLEX",
      "elk.layered.considerModelOrder.strategy": isLarge ? "NONE" : "NODES_AND_EDGES",
      "elk.layered.thoroughness": isLarge ? "1" : "7",
      // Route backward edges and edges over several layers around the nodes.
      "elk.layered.feedbackEdges": "true",
      "elk.spacing.edgeNode": "18",
      "elk.edgeRouting": "POLYLINE",
      "elk.separateConnectedComponents": "true",
    },
    children: items
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, along, across }) => ({ id, width: along, height: across, ports: ports.get(id) ?? [], layoutOptions: { "elk.portConstraints": "FIXED_POS" } })),
    edges: links.map(({ key, from, to, out, into }) => ({ id: String(key), sources: [`out ${out} ${from}`], targets: [`in ${into} ${to}`] })),
  };
}

/** Build fixed elk ports for the ends of links; without them, elk spreads ends over an item's sides. */
function portsOf(items: readonly Item[], links: readonly Link[]): Map<string, ElkPort[]> {
  const along = new Map(items.map((item) => [item.id, item.along]));
  const ports = new Map<string, Map<string, ElkPort>>();
  const put = (id: string, port: ElkPort) => ports.set(id, (ports.get(id) ?? new Map<string, ElkPort>()).set(port.id, port));
  for (const { from, to, out, into } of links) {
    put(from, { id: `out ${out} ${from}`, x: along.get(from), y: out, layoutOptions: { "elk.port.side": "EAST" } });
    put(to, { id: `in ${into} ${to}`, x: 0, y: into, layoutOptions: { "elk.port.side": "WEST" } });
  }
  return new Map([...ports].map(([id, found]) => [id, [...found.values()]]));
}

/** Start of the id of an item that is a frame. */
export const FRAME = "frame ";

/** Convert an elk layout to at most `most` rows that begin with a frame, with layers no wider than `widest`. */
export function blockOf(laid: ElkNode, most: number, widest = Infinity): Block {
  const columns = layersOf(laid).flatMap((layer) => split(layer, widest));
  const isSplit = widest < Infinity;
  const ranges = lengthsOf(columns, isSplit);
  const spots = new Map<string, Spot>();
  const rows: Block["rows"] = [];
  const shifts: Point[] = [];
  let top = 0;
  for (const [first, last] of cut(ranges, startsOf(columns), most)) {
    const begin = (ranges[first] as Range).start;
    const members = columns.slice(first, last).flatMap((items, nth) => items.map((item) => ({ ...item, layer: nth })));
    const least = Math.min(...members.map((item) => item.v));
    const [du, dv] = [-begin, top - least];
    for (const { id, along, across, u, v, layer } of members) {
      const start = isSplit ? (ranges[first + layer] as Range).start : u;
      spots.set(id, { id, along, across, u: start + du, v: v + dv, row: rows.length, layer });
    }
    const end = Math.max(...members.map((item) => item.v + item.across)) + dv;
    rows.push({ start: top, end, layers: ranges.slice(first, last).map((range) => ({ start: range.start + du, end: range.end + du })) });
    shifts.push({ u: du, v: dv });
    top = end + GAP.row;
  }
  const ends = rows.map((row) => (row.layers.at(-1) as Range).end);
  const bends = isSplit ? new Map<number, Point[]>() : bendsOf(laid, spots, shifts);
  return { spots, rows, bends, along: Math.max(0, ...ends), across: Math.max(0, top - GAP.row) };
}

type Laid = Item & Point;

/** Return the items of elk's layout by layer; items that overlap along the direction are in one layer. */
function layersOf(laid: ElkNode): Laid[][] {
  const items = (laid.children ?? []).map(({ id, x = 0, y = 0, width = 0, height = 0 }) => ({ id, along: width, across: height, u: x, v: y }));
  const layers: Laid[][] = [];
  let end = -Infinity;
  for (const item of items.toSorted((a, b) => a.u - b.u)) {
    if (item.u >= end) layers.push([]);
    (layers.at(-1) as Laid[]).push(item);
    end = Math.max(end, item.u + item.along);
  }
  return layers;
}

/** Split a layer into one layer per item if its width is limited. */
function split(items: Laid[], widest: number): Laid[][] {
  if (widest === Infinity) return [items];
  return items.toSorted((a, b) => a.v - b.v).map((item) => [{ ...item, v: (widest - item.across) / 2 }]);
}

/** Return the start and end of each layer along the direction: those of elk, or one after the other for split layers. */
function lengthsOf(layers: readonly Laid[][], isSplit: boolean): Range[] {
  let at = 0;
  return layers.map((items) => {
    const length = Math.max(...items.map((item) => item.along));
    const start = isSplit ? at : Math.min(...items.map((item) => item.u));
    at = start + length + GAP.layer;
    return { start, end: isSplit ? start + length : Math.max(...items.map((item) => item.u + item.along)) };
  });
}

/** Return the layers at which a row may begin: the first, and those with a frame. */
function startsOf(layers: readonly Laid[][]): number[] {
  return layers.flatMap((items, place) => (place === 0 || items.some(({ id }) => id.startsWith(FRAME)) ? [place] : []));
}

/**
 * Group layers into at most `most` rows, with the longest row as short as possible.
 *
 * A row is given by its first layer and the layer after its last one. `starts` are the layers at which a row may begin. The shortest
 * length of rows is chosen with which `most` rows are enough.
 */
function cut(layers: readonly Range[], starts: readonly number[], most: number): [number, number][] {
  const lengthOf = (first: number, last: number) => (layers[last - 1] as Range).end - (layers[first] as Range).start;
  const ends = [...starts.slice(1), layers.length];
  const rowsOf = (limit: number) => {
    const rows: [number, number][] = [];
    starts.forEach((start, nth) => {
      const row = rows.at(-1);
      const end = ends[nth] as number;
      if (row && lengthOf(row[0], end) <= limit) row[1] = end;
      else rows.push([start, end]);
    });
    return rows;
  };
  const lengths = starts.flatMap((start, nth) => ends.slice(nth).map((end) => lengthOf(start, end))).sort((a, b) => a - b);
  return rowsOf(lengths.find((length) => rowsOf(length).length <= most) ?? 0);
}

/** Return the bends between the ends of links within one row. */
function bendsOf(laid: ElkNode, spots: ReadonlyMap<string, Spot>, shifts: readonly Point[]): Map<number, Point[]> {
  const found = new Map<number, Point[]>();
  for (const { id, sources, targets, sections } of laid.edges ?? []) {
    const [from, to] = [sources[0], targets[0]].map((port) => spots.get(itemOf(String(port))));
    const section = sections?.[0];
    if (!from || !to || !section || from.row !== to.row) continue;
    const shift = shifts[from.row] as Point;
    const [left, right] = [section.startPoint.x, section.endPoint.x].sort((a, b) => a - b) as [number, number];
    const corners = (section.bendPoints ?? []).filter(({ x }) => x >= left && x <= right);
    found.set(Number(id), corners.map(({ x, y }) => ({ u: x + shift.u, v: y + shift.v })));
  }
  return found;
}

/** Return the item in a port's id: the part after the side and the offset. */
function itemOf(port: string): string {
  return port.slice(port.indexOf(" ", port.indexOf(" ") + 1) + 1);
}

/** Distances at which edges pass items; five tracks, each a little farther, keep edges apart. */
const ASIDE = 8;
const BELOW = 9;
const ABOVE = 4;

/** Return the corners of a link between two spots; unless straight, it passes between the rows. */
export function between(block: Block, from: Spot, out: number, to: Spot, into: number, key: number): Point[] {
  const isOn = from.row === to.row && to.layer > from.layer;
  const bends = block.bends.get(key);
  if (bends && (isOn || block.rows.length === 1)) return bends;
  if (isOn && to.layer === from.layer + 1) return [];
  const track = key % 5;
  const lane = below(block, from.row, track);
  const [right, left] = [after(block, from, track), before(block, to, track)];
  const leave = [{ u: right, v: out }, { u: right, v: lane }];
  const arrive = (v: number) => [{ u: left, v }, { u: left, v: into }];
  if (to.row === from.row || to.row === from.row + 1) return [...leave, ...arrive(lane)];
  const [side, above] = [-ASIDE - track * 3, overhead(block, to.row, track)];
  return [...leave, { u: side, v: lane }, { u: side, v: above }, ...arrive(above)];
}

/** Route a link from a spot out of its block: straight, or below its row if blocked; it leaves at `v`. */
export function exit(block: Block, from: Spot, out: number, key: number): { points: Point[]; v: number } {
  if (!isBlocked(block, from, out, 1)) return { points: [], v: out };
  const [u, v] = [after(block, from, key % 5), below(block, from.row, key % 5)];
  return { points: [{ u, v: out }, { u, v }], v };
}

/** Route a link into a block to a spot: straight, or above its row if blocked; it enters at `v`. */
export function entry(block: Block, to: Spot, into: number, key: number): { points: Point[]; v: number } {
  if (!isBlocked(block, to, into, -1)) return { points: [], v: into };
  const [u, v] = [before(block, to, key % 5), overhead(block, to.row, key % 5)];
  return { points: [{ u, v }, { u, v: into }], v };
}

/** Return true if another item of the row is in the way at `v`, after the spot (1) or before it (-1). */
function isBlocked(block: Block, spot: Spot, v: number, side: 1 | -1): boolean {
  return [...block.spots.values()].some((other) => other.row === spot.row && (other.layer - spot.layer) * side > 0 && v > other.v - ABOVE && v < other.v + other.across + ABOVE);
}

const rangeOf = (block: Block, { row, layer }: Spot) => (block.rows[row] as Block["rows"][number]).layers[layer] as Range;
const after = (block: Block, spot: Spot, track: number) => rangeOf(block, spot).end + ASIDE + track * 3;
const before = (block: Block, spot: Spot, track: number) => rangeOf(block, spot).start - ASIDE - track * 3;
const below = (block: Block, row: number, track: number) => (block.rows[row] as Range).end + BELOW + track * 3;
const overhead = (block: Block, row: number, track: number) => (block.rows[row] as Range).start - ABOVE - track * 2;
