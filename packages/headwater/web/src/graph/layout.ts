/**
 * Sizes of nodes, and viewports: the offset and the zoom with which a graph is shown in a window.
 *
 * Boxes are in coordinates of the graph, windows in pixels of the screen: x on the screen is `viewport.x + zoom * box.x`.
 */

import { COLUMNS_SHOWN } from "./columns";
import { SIZES } from "./sizes";

export interface Place {
  x: number;
  y: number;
}

export interface Box extends Place {
  width: number;
  height: number;
}

export interface Viewport extends Place {
  zoom: number;
}

export const WIDTH = SIZES.width;

/** Points of a node where edges end: `top` for vertical edges, otherwise `left` and `right`. */
export const GRIPS = { left: { x: 0, y: SIZES.body / 2 }, right: { x: WIDTH, y: SIZES.body / 2 }, top: { x: WIDTH / 2, y: 0 } };

export function sizeOf(columns: number | null): { width: number; height: number } {
  if (columns === null) return { width: WIDTH, height: SIZES.body };
  const rows = Math.min(columns, COLUMNS_SHOWN) * SIZES.column;
  const more = columns > COLUMNS_SHOWN ? SIZES.more : 0;
  return { width: WIDTH, height: SIZES.body + SIZES.search + rows + more };
}

/** Return the bounding box of boxes. */
export function around(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** Return true if two boxes overlap. */
export function meet(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

export const CORNERS = ["bottom-right", "top-right", "top-left"] as const;

/** Return the first corner of the window where an item, with a margin, covers no box; null if there is none. */
export function freeCorner(boxes: readonly Box[], { x, y, zoom }: Viewport, size: { width: number; height: number }, item: { width: number; height: number }): (typeof CORNERS)[number] | null {
  const covers = (corner: string) => {
    const left = corner.endsWith("left") ? 0 : size.width - item.width;
    const top = corner.startsWith("top") ? 0 : size.height - item.height;
    const place = { x: (left - x) / zoom, y: (top - y) / zoom, width: item.width / zoom, height: item.height / zoom };
    return boxes.some((box) => meet(box, place));
  };
  return CORNERS.find((corner) => !covers(corner)) ?? null;
}

/** Return boxes as one SVG path. */
export function outline(boxes: readonly Box[]): string {
  return boxes.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`).join("");
}

const MARGIN = 28;
/** Space at the bottom for the zoom buttons. */
export const BELOW = 64;
const LARGEST = 1.1;
/** Smallest zoom at which a node's text is easy to read: 13 pixels become 11. */
export const READABLE = 0.85;
/** Smallest zoom at which a whole graph is shown rather than a part of it. */
export const LEAST_WHOLE = 0.6;

/** Return the viewport that fits the graph, or, if that is too small to read, the part around `first` with `below` free pixels under it. */
export function viewportFor(boxes: readonly Box[], size: { width: number; height: number }, first: Box | null, below = BELOW, largest = LARGEST): Viewport {
  const { x: left, y: top, width, height } = around(boxes);
  const fitting = Math.min((size.width - 2 * MARGIN) / width, (size.height - MARGIN - BELOW) / height, largest);
  const zoom = first && fitting < LEAST_WHOLE ? Math.min(READABLE, largest) : fitting;
  const [x, y] = [
    along(left, width, size.width, zoom, first && first.x + first.width / 2, MARGIN),
    along(top, height, size.height, zoom, first && first.y + first.height / 2, zoom > fitting ? below : BELOW),
  ];
  return { x, y, zoom };
}

/** Return the offset on one axis: centered if everything fits, otherwise near `center` without empty space beside the graph. */
function along(start: number, length: number, space: number, zoom: number, center: number | null, after: number): number {
  if (center === null || length * zoom <= space - MARGIN - after) return (space + MARGIN - after) / 2 - (start + length / 2) * zoom;
  const wanted = space / 2 - center * zoom;
  return Math.min(MARGIN - start * zoom, Math.max(wanted, space - after - (start + length) * zoom));
}

/** Move a viewport by the shortest distance that brings a box into the window. */
export function into(viewport: Viewport, box: Box, size: { width: number; height: number }): Viewport {
  const { x, y, zoom } = viewport;
  return {
    x: x + within(x + box.x * zoom, box.width * zoom, size.width),
    y: y + within(y + box.y * zoom, box.height * zoom, size.height),
    zoom,
  };
}

/** Return the shift that brings a span into the window; if it is too long, its start. */
function within(start: number, length: number, space: number): number {
  if (start >= 0 && start + length <= space) return 0;
  const least = Math.min(MARGIN, Math.max(0, (space - length) / 2));
  return start < least || length + 2 * least > space ? least - start : space - least - (start + length);
}

/** Keep a viewport that shows the wanted boxes above the buttons; otherwise show the whole graph if readable, or the wanted boxes around the first. */
export function showing(viewport: Viewport, wanted: readonly Box[], all: readonly Box[], size: { width: number; height: number }, below = BELOW): Viewport {
  const [first] = wanted;
  if (!first || isWithin(viewport, around(wanted), { ...size, height: size.height - BELOW })) return viewport;
  const whole = viewportFor(all, size, null, below, viewport.zoom);
  return whole.zoom >= Math.min(READABLE, viewport.zoom) ? whole : viewportFor(wanted, size, first, below, viewport.zoom);
}

/** Move a viewport to show all wanted boxes above the buttons; if they do not fit, use `showing`. */
export function moved(viewport: Viewport, wanted: readonly Box[], all: readonly Box[], size: { width: number; height: number }, below?: number): Viewport {
  const box = around(wanted);
  const free = { ...size, height: size.height - BELOW };
  const isFitting = box.width * viewport.zoom <= free.width && box.height * viewport.zoom <= free.height;
  return isFitting ? into(viewport, box, free) : showing(viewport, wanted, all, size, below);
}

/** Return true if a box is entirely in the window. */
export function isWithin({ x, y, zoom }: Viewport, box: Box, { width, height }: { width: number; height: number }): boolean {
  const [left, top] = [x + box.x * zoom, y + box.y * zoom];
  return left >= 0 && top >= 0 && left + box.width * zoom <= width && top + box.height * zoom <= height;
}

/** Keep a viewport that shows all wanted boxes readably; otherwise fit them. */
export function framing(viewport: Viewport, wanted: readonly Box[], size: { width: number; height: number }, below = BELOW): Viewport {
  const isReadable = viewport.zoom >= READABLE && isWithin(viewport, around(wanted), { ...size, height: size.height - BELOW });
  return isReadable ? viewport : viewportFor(wanted, size, null, below);
}

const DIRECTIONS: Record<string, readonly [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/** Return the node that an arrow key selects: the nearest in that direction, preferring straight ahead. */
export function beside(boxes: ReadonlyMap<string, Box>, from: string, key: string): string | null {
  const direction = DIRECTIONS[key];
  const start = boxes.get(from);
  if (!direction || !start) return null;
  let best: string | null = null;
  let least = Infinity;
  for (const [id, box] of boxes) {
    const [dx, dy] = [box.x - start.x, box.y - start.y];
    const ahead = dx * direction[0] + dy * direction[1];
    const aside = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
    const cost = ahead + 2 * aside;
    if (ahead > 0 && cost < least) [best, least] = [id, cost];
  }
  return best;
}
