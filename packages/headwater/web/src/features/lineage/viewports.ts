import type { FrameBox } from "../../graph/arrange";
import { TROUBLES } from "../../graph/state";
import { around, BELOW, into, isWithin, meet, sizeOf, viewportFor, type Box, type Viewport } from "../../graph/layout";
import type { FlowNode } from "./flow";
import { boxOf, OVERVIEW, WIDE } from "./Overview";

export interface Start {
  viewport: Viewport;
  width: number;
  height: number;
}

/** The user's preference for reduced motion. */
export const REDUCED_MOTION = matchMedia("(prefers-reduced-motion: reduce)");
export const MOVING_MS = 200;

/** Return the viewport of all nodes, or of the part around `first` if all would be too small to read. */
export function startOf(nodes: readonly FlowNode[], frames: readonly Box[], frame: HTMLElement | null, first: FlowNode | null): Start {
  const { clientWidth: width = 1, clientHeight: height = 1 } = frame ?? {};
  if (nodes.length === 0) return { viewport: { x: 0, y: 0, zoom: 1 }, width, height };
  return { viewport: viewportFor([...nodes.map(boxOf), ...frames], { width, height }, first && boxOf(first), spaceBelow(width)), width, height };
}

/** Return the space to leave below a graph that is only partly in the window. */
export function spaceBelow(width: number): number | undefined {
  return width < WIDE ? undefined : OVERVIEW.height + 15;
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

/** The size of the zoom buttons in the bottom left corner, with the margin to the window. */
const BUTTONS = { width: 155, height: 53 };

/** Return the number of nodes that are partly or entirely outside the window or below the zoom buttons. */
export function countOutside(nodes: readonly FlowNode[], viewport: Viewport, size: { width: number; height: number }): number {
  const buttons = windowOf({ ...viewport, y: viewport.y - size.height + BUTTONS.height }, BUTTONS);
  return nodes.map(boxOf).filter((box) => !isWithin(viewport, box, size) || meet(box, buttons)).length;
}

/** Nodes to keep in the window, and the headers of the pipelines around them. */
export interface Focused {
  nodes: readonly FlowNode[];
  headers: readonly Box[];
}

/** The width of a pipeline's name and label, and the height of its header. */
const HEADER = { width: 300, height: 30 };

/** Return the focused nodes: of a pipeline that is drawn as a frame its worst task, of a missing node those with a mark. */
export function focusedOf(nodes: readonly FlowNode[], frames: readonly { box: FrameBox }[], ids: readonly string[]): Focused {
  const members = new Set(frames.flatMap(({ box: { frame } }) => (ids.includes(frame.id) ? frame.members : [])));
  const inside = nodes.filter((node) => members.has(node.data.node.id));
  const own = nodes.filter((node) => ids.includes(node.id));
  const worst = TROUBLES.map((trouble) => inside.find((node) => node.data.trouble === trouble)).find(Boolean) ?? inside[0];
  const found = own.length > 0 || !worst ? own : [worst];
  const headers = frames.flatMap(({ box }) => (found.some((node) => box.frame.members.includes(node.data.node.id)) ? [{ ...box, ...HEADER, width: Math.min(box.width, HEADER.width) }] : []));
  return { nodes: found.length > 0 ? found : nodes.filter((node) => node.data.mark !== null), headers };
}

/** Return the viewport with the focused nodes above the buttons and the overview: all of them, or the first if they do not fit, with headers if these fit too. */
export function keepInWindow(viewport: Viewport, { nodes, headers }: Focused, { clientWidth: width, clientHeight }: HTMLElement): Viewport {
  const boxes = nodes.map(boxOf);
  const [first] = boxes;
  if (!first) return viewport;
  const height = clientHeight - (spaceBelow(width) ?? BELOW);
  const fits = (box: Box) => box.width * viewport.zoom <= width && box.height * viewport.zoom <= height;
  const box = [[...boxes, ...headers], boxes, [first, ...headers]].map(around).find(fits) ?? first;
  return into(viewport, box, { width, height });
}
