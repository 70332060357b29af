import { around, into, meet, sizeOf, viewportFor, type Box, type Viewport } from "../../graph/layout";
import type { FlowNode } from "./flow";
import { boxOf, WIDE } from "./Overview";

export interface Start {
  viewport: Viewport;
  width: number;
  height: number;
}

/** The user's preference for reduced motion. */
export const REDUCED_MOTION = matchMedia("(prefers-reduced-motion: reduce)");
export const MOVING_MS = 200;

/** The overview's height of 80 pixels and the panel's margins. */
const BELOW_OVERVIEW = 112;

/** Return the viewport of all nodes, or of the part around `first` if all would be too small to read. */
export function startOf(nodes: readonly FlowNode[], frames: readonly Box[], frame: HTMLElement | null, first: FlowNode | null): Start {
  const { clientWidth: width = 1, clientHeight: height = 1 } = frame ?? {};
  return { viewport: viewportFor([...nodes.map(boxOf), ...frames], { width, height }, first && boxOf(first), spaceBelow(width)), width, height };
}

/** Return the space to leave below a graph that is only partly in the window. */
export function spaceBelow(width: number): number | undefined {
  return width < WIDE ? undefined : BELOW_OVERVIEW;
}

/** Return the boxes of a new path and of expanded nodes to bring into the window, the clicked node first. */
export function boxesToShow(boxes: ReadonlyMap<string, Box>, before: ReadonlyMap<string, Box>, anchor: string | null, path: ReadonlySet<string> | null, isVisible: (box: Box) => boolean): Box[] {
  const isNear = (id: string) => id === anchor || isVisible(before.get(id) ?? NOWHERE);
  const isGrown = [...boxes].some(([id, box]) => box.height > (before.get(id)?.height ?? box.height) && isNear(id));
  const isExpanded = (id: string, box: Box) => isGrown && box.height > sizeOf(null).height && isNear(id);
  const ids = [...boxes].filter(([id, box]) => path?.has(id) || isExpanded(id, box));
  return ids.sort(([a], [b]) => Number(b === anchor) - Number(a === anchor)).map(([, box]) => box);
}

/** Return the boxes added beside a node, nearest first, and the node's own; empty if none were added. */
export function addedBeside(anchor: string, boxes: ReadonlyMap<string, Box>, before: ReadonlyMap<string, Box>): Box[] {
  const node = boxes.get(anchor);
  const added = [...boxes].flatMap(([id, box]) => (before.has(id) ? [] : [box]));
  if (!node || added.length === 0) return [];
  const distance = (box: Box) => Math.hypot(box.x - node.x, box.y - node.y);
  return [...added.sort((a, b) => distance(a) - distance(b)), node];
}

const NOWHERE: Box = { x: Infinity, y: Infinity, width: 0, height: 0 };

/** Return the part of the graph that is in the window. */
export function windowOf({ x, y, zoom }: Viewport, { width, height }: { width: number; height: number }): Box {
  return { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
}

/** Return the number of nodes outside the window. */
export function countOutside(nodes: readonly FlowNode[], viewport: Viewport, size: { width: number; height: number }): number {
  const windowBox = windowOf(viewport, size);
  return nodes.filter((node) => !meet(boxOf(node), windowBox)).length;
}

/** Return the viewport with the focused nodes in the window: all of them, or the first if they do not fit. */
export function keepInWindow(viewport: Viewport, focused: readonly FlowNode[], { clientWidth: width, clientHeight: height }: HTMLElement): Viewport {
  const boxes = focused.map(boxOf);
  const all = boxes.length > 0 && around(boxes);
  const box = all && all.width * viewport.zoom <= width && all.height * viewport.zoom <= height ? all : boxes[0];
  return box ? into(viewport, box, { width, height }) : viewport;
}
