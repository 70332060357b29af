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

/** Where edges end at a node, and at one that is above or below the other. */
export const GRIPS = { left: { x: 0, y: SIZES.body / 2 }, right: { x: WIDTH, y: SIZES.body / 2 }, top: { x: WIDTH / 2, y: 0 } };

export function sizeOf(columns: number | null): { width: number; height: number } {
  if (columns === null) return { width: WIDTH, height: SIZES.body };
  const rows = Math.min(columns, COLUMNS_SHOWN) * SIZES.column;
  const more = columns > COLUMNS_SHOWN ? SIZES.more : 0;
  return { width: WIDTH, height: SIZES.body + SIZES.search + rows + more };
}

/** The least box that holds others. */
export function around(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** Whether two boxes have a part in common. */
export function meet(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** Boxes as one SVG path. */
export function outline(boxes: readonly Box[]): string {
  return boxes.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`).join("");
}

const MARGIN = 28;
/** At the bottom there are the buttons that zoom. */
const BELOW = 64;
const LARGEST = 1.1;
/** The least zoom at which all text of a node can be read: 13 pixels are then 11. */
export const READABLE = 0.85;

/** Where to look at a graph from: all of it, or if that were too small, what is around `first`, with `below` pixels left free under it. */
export function viewportFor(boxes: readonly Box[], size: { width: number; height: number }, first: Box | null, below = BELOW, largest = LARGEST): Viewport {
  const { x: left, y: top, width, height } = around(boxes);
  const fitting = Math.min((size.width - 2 * MARGIN) / width, (size.height - MARGIN - BELOW) / height, largest);
  const zoom = first ? Math.max(fitting, Math.min(READABLE, largest)) : fitting;
  const [x, y] = [
    along(left, width, size.width, zoom, first && first.x + first.width / 2, MARGIN),
    along(top, height, size.height, zoom, first && first.y + first.height / 2, zoom > fitting ? below : BELOW),
  ];
  return { x, y, zoom };
}

/** The shift in one direction: in the middle if all fits, else so that nothing empty is seen beside `center`. */
function along(start: number, length: number, space: number, zoom: number, center: number | null, after: number): number {
  if (center === null || length * zoom <= space - MARGIN - after) return (space + MARGIN - after) / 2 - (start + length / 2) * zoom;
  const wanted = space / 2 - center * zoom;
  return Math.min(MARGIN - start * zoom, Math.max(wanted, space - after - (start + length) * zoom));
}

/** The same way of looking, moved no more than it takes to have a box in the window. */
export function into(viewport: Viewport, box: Box, size: { width: number; height: number }): Viewport {
  const { x, y, zoom } = viewport;
  return {
    x: x + within(x + box.x * zoom, box.width * zoom, size.width),
    y: y + within(y + box.y * zoom, box.height * zoom, size.height),
    zoom,
  };
}

/** How far to shift what begins at `start` to have it in sight; its beginning, where it is too long. */
function within(start: number, length: number, space: number): number {
  if (start >= 0 && start + length <= space) return 0;
  const least = Math.min(MARGIN, Math.max(0, (space - length) / 2));
  return start < least || length + 2 * least > space ? least - start : space - least - (start + length);
}

/** The same way of looking if what is wanted is in sight above the buttons; else all of the graph if that can be read, or as much of what is wanted as can, around its first. */
export function showing(viewport: Viewport, wanted: readonly Box[], all: readonly Box[], size: { width: number; height: number }, below = BELOW): Viewport {
  const [first] = wanted;
  if (!first || isWithin(viewport, around(wanted), { ...size, height: size.height - BELOW })) return viewport;
  const whole = viewportFor(all, size, null, below, viewport.zoom);
  return whole.zoom >= Math.min(READABLE, viewport.zoom) ? whole : viewportFor(wanted, size, first, below, viewport.zoom);
}

/** The same way of looking, moved to have all that is wanted in sight above the buttons; where that is too large, as `showing` has it. */
export function moved(viewport: Viewport, wanted: readonly Box[], all: readonly Box[], size: { width: number; height: number }, below?: number): Viewport {
  const box = around(wanted);
  const free = { ...size, height: size.height - BELOW };
  const isFitting = box.width * viewport.zoom <= free.width && box.height * viewport.zoom <= free.height;
  return isFitting ? into(viewport, box, free) : showing(viewport, wanted, all, size, below);
}

/** Whether all of a box is in the window. */
export function isWithin({ x, y, zoom }: Viewport, box: Box, { width, height }: { width: number; height: number }): boolean {
  const [left, top] = [x + box.x * zoom, y + box.y * zoom];
  return left >= 0 && top >= 0 && left + box.width * zoom <= width && top + box.height * zoom <= height;
}

/** The same way of looking if all that is wanted can be read there; else as near to it as all of it fits. */
export function framing(viewport: Viewport, wanted: readonly Box[], size: { width: number; height: number }, below = BELOW): Viewport {
  const isReadable = viewport.zoom >= READABLE && isWithin(viewport, around(wanted), { ...size, height: size.height - BELOW });
  return isReadable ? viewport : viewportFor(wanted, size, null, below);
}

const DIRECTIONS: Record<string, readonly [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/** The node that an arrow key leads to: the nearest in that direction, straight ahead before aside. */
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
