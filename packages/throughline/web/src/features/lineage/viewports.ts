import { around, into, meet, sizeOf, viewportFor, type Box, type Viewport } from "../../graph/layout";
import type { FlowNode } from "./flow";
import { boxOf, WIDE } from "./Overview";

export interface Start {
  viewport: Viewport;
  width: number;
  height: number;
}

/** Whether nothing is to move by itself. */
export const STILL = matchMedia("(prefers-reduced-motion: reduce)");
export const MOVING_MS = 200;

/** The overview's 80 pixels and the panel's margins. */
const BELOW_OVERVIEW = 112;

/** How to look at all nodes, or at what is around one where that would be too small to read. */
export function startOf(nodes: readonly FlowNode[], frames: readonly Box[], frame: HTMLElement | null, first: FlowNode | null): Start {
  const { clientWidth: width = 1, clientHeight: height = 1 } = frame ?? {};
  return { viewport: viewportFor([...nodes.map(boxOf), ...frames], { width, height }, first && boxOf(first), belowOf(width)), width, height };
}

/** How much is left free below a graph that is seen in part. */
export function belowOf(width: number): number | undefined {
  return width < WIDE ? undefined : BELOW_OVERVIEW;
}

/** What to bring into the window, first what was clicked on: a path that is new, and what is unfolded there if something was just now. */
export function wantedOf(boxes: ReadonlyMap<string, Box>, was: ReadonlyMap<string, Box>, anchor: string | null, path: ReadonlySet<string> | null, isSeen: (box: Box) => boolean): Box[] {
  const isNear = (id: string) => id === anchor || isSeen(was.get(id) ?? NOWHERE);
  const isGrown = [...boxes].some(([id, box]) => box.height > (was.get(id)?.height ?? box.height) && isNear(id));
  const isUnfolded = (id: string, box: Box) => isGrown && box.height > sizeOf(null).height && isNear(id);
  const ids = [...boxes].filter(([id, box]) => path?.has(id) || isUnfolded(id, box));
  return ids.sort(([a], [b]) => Number(b === anchor) - Number(a === anchor)).map(([, box]) => box);
}

/** What to bring into the window once more is shown beside a node: what came, the nearest to the node first, and the node. */
export function cameBeside(anchor: string, boxes: ReadonlyMap<string, Box>, was: ReadonlyMap<string, Box>): Box[] {
  const node = boxes.get(anchor);
  const came = [...boxes].flatMap(([id, box]) => (was.has(id) ? [] : [box]));
  if (!node || came.length === 0) return [];
  const far = (box: Box) => Math.hypot(box.x - node.x, box.y - node.y);
  return [...came.sort((a, b) => far(a) - far(b)), node];
}

const NOWHERE: Box = { x: Infinity, y: Infinity, width: 0, height: 0 };

/** The part of the graph that is in the window. */
export function windowOf({ x, y, zoom }: Viewport, { width, height }: { width: number; height: number }): Box {
  return { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
}

/** How many nodes are not seen at all. */
export function outside(nodes: readonly FlowNode[], viewport: Viewport, size: { width: number; height: number }): number {
  const seen = windowOf(viewport, size);
  return nodes.filter((node) => !meet(boxOf(node), seen)).length;
}

/** The viewport with what is looked at in the window: all of it, or where it is too large the first. */
export function kept(viewport: Viewport, looked: readonly FlowNode[], { clientWidth: width, clientHeight: height }: HTMLElement): Viewport {
  const boxes = looked.map(boxOf);
  const all = boxes.length > 0 && around(boxes);
  const box = all && all.width * viewport.zoom <= width && all.height * viewport.zoom <= height ? all : boxes[0];
  return box ? into(viewport, box, { width, height }) : viewport;
}
