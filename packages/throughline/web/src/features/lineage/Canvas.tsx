import "./canvas.css";
import "./edges.css";
import "./legend.css";
import { Background, Panel, ReactFlow, ReactFlowProvider, useReactFlow, type Edge, type ReactFlowInstance } from "@xyflow/react";
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type FocusEvent, type KeyboardEvent, type ReactNode } from "react";
import { focusNode, takesFocus } from "../../components/focus";
import { Icon, type IconName } from "../../components/Icon";
import type { FrameBox } from "../../graph/arrange";
import type { Trouble } from "../../graph/state";
import { around, beside, framing, into, isWithin, meet, moved, showing, type Box, type Viewport } from "../../graph/layout";
import { SIZE_VARIABLES } from "../../graph/sizes";
import type { NodeId } from "../../graph/types";
import { isSame, type SharedViewport } from "../../graph/shared";
import { ActionsContext, type Actions } from "./actions";
import { Distance } from "./Distance";
import { EDGE_TYPES } from "./edges";
import { flowFrames, type FlowNode, type FrameFlowNode } from "./flow";
import { Legend } from "./Legend";
import { belowOf, cameBeside, kept, MOVING_MS, outside, startOf, STILL, wantedOf, windowOf, type Start } from "./viewports";
import { NODE_TYPES } from "./nodes";
import { useGradually } from "./useGradually";
import { boxOf, Overview } from "./Overview";

interface Props {
  label: string;
  nodes: FlowNode[];
  edges: Edge[];
  frames: readonly { box: FrameBox; trouble: Trouble | null }[];
  /** Where there may be more than is drawn. */
  extent: readonly Box[];
  /** Of graphs that show the same part. */
  shared: SharedViewport | null;
  actions: Actions;
  /** The node that keeps its place on the screen when others come and go. */
  anchor: Anchor | null;
  /** The nodes of a path that is locked: they are brought into the window. */
  path: ReadonlySet<string> | null;
  /** Nodes that are brought into the window together, as the two ends of an edge. */
  ends: readonly string[] | null;
  /** The node that is looked at: it stays in the window when that becomes narrower. Null: those that are other than they were. */
  looked: string | null;
  /** Another text, another graph: it is fitted into the window anew. Null: it is about to be. */
  about: string | null;
  onNowhere: () => void;
  /** How many nodes are out of the window since not all could be readable in it, and how to see them; null: none. */
  onOutside?: (outside: Outside | null) => void;
}

/** The node that was clicked on last, and whether that is to show more beside it. */
export interface Anchor {
  id: NodeId;
  isOpening: boolean;
}

export interface Outside {
  count: number;
  fitAll: () => void;
}

export function Canvas(props: Props): ReactNode {
  return (
    <ActionsContext value={props.actions}>
      <ReactFlowProvider>
        <Stage {...props} />
      </ReactFlowProvider>
    </ActionsContext>
  );
}

function Stage({ label, nodes, edges, frames, extent, shared, anchor, path, ends, looked, about, onNowhere, onOutside }: Props): ReactNode {
  const flow = useReactFlow<FlowNode | FrameFlowNode>();
  const frame = useRef<HTMLDivElement>(null);
  const id = useId();
  const awaiting = useRef<Anchor | null>(null);
  useLayoutEffect(() => {
    awaiting.current = anchor?.isOpening ? anchor : null;
  }, [anchor]);
  const before = useRef<{ about: string | null; path: string; ends: readonly string[] | null; boxes: Map<string, Box> } | null>(null);
  const [start, setStart] = useState<Start | null>(null);
  const seen = useRef<readonly FlowNode[]>([]);
  useLayoutEffect(() => {
    const own = nodes.filter((node) => (ends ? ends.includes(node.id) : node.id === looked));
    seen.current = own.length > 0 ? own : nodes.filter((node) => node.data.mark !== null);
  }, [nodes, looked, ends]);
  const isPart = useRef(false);
  const wantsFocus = useRef(false);
  const count = useGradually(nodes.length);
  const isAll = count >= nodes.length;
  const drawn = useMemo(() => (isAll ? { nodes, edges } : firstOf(nodes, edges, count)), [isAll, nodes, edges, count]);
  const frameBoxes = useMemo(() => [...frames.map(({ box }) => box), ...extent], [frames, extent]);
  const follow = useCallback((viewport: Viewport) => void (isSame(flow.getViewport(), viewport) || flow.setViewport(viewport)), [flow]);
  useEffect(() => shared?.join(follow), [shared, follow]);
  const outlines = useMemo(() => flowFrames(frames), [frames]);
  const all: (FlowNode | FrameFlowNode)[] = useMemo(() => [...outlines, ...drawn.nodes], [outlines, drawn.nodes]);
  const fitAll = useCallback(() => void flow.setViewport(startOf(nodes, frameBoxes, frame.current, null).viewport), [flow, nodes, frameBoxes]);
  const tell = useCallback(
    (viewport: Viewport) => {
      const { clientWidth: width = 0, clientHeight: height = 0 } = frame.current ?? {};
      const count = isPart.current ? outside(nodes, viewport, { width, height }) : 0;
      onOutside?.(count > 0 ? { count, fitAll } : null);
    },
    [nodes, fitAll, onOutside],
  );
  // Where to look is known before nodes are drawn: otherwise those where it looked before are drawn as well.
  useLayoutEffect(() => {
    if (nodes.length === 0) {
      const { clientWidth: width = 1, clientHeight: height = 1 } = frame.current ?? {};
      // It is there before the nodes are, of which it has enough to do.
      setStart((first) => first ?? { viewport: { x: 0, y: 0, zoom: 1 }, width, height });
      return;
    }
    const boxes = new Map(nodes.map((node) => [node.id, boxOf(node)]));
    const was = before.current;
    before.current = { about: about ?? was?.about ?? null, path: [...(path ?? [])].join("\n"), ends, boxes };
    const ended = (ends ?? []).flatMap((id) => boxes.get(id) ?? []);
    const [old, now] = [was?.boxes.get(anchor?.id ?? ""), boxes.get(anchor?.id ?? "")];
    if (!was || (about !== null && was.about !== about)) {
      const root = nodes.find((node) => node.data.isRoot) ?? null;
      const fit = startOf(nodes, frameBoxes, frame.current, root);
      const unframed = frame.current ? kept(fit.viewport, seen.current, frame.current) : fit.viewport;
      const viewport = ended.length > 0 ? framing(fit.viewport, ended, fit, belowOf(fit.width)) : unframed;
      setStart((first) => first ?? { ...fit, viewport });
      void flow.setViewport(viewport);
      isPart.current = outside(nodes, viewport, fit) > 0;
      tell(viewport);
      wantsFocus.current = takesFocus();
      return;
    }
    const { x, y, zoom } = flow.getViewport();
    const there = old && now ? { x: x + (old.x - now.x) * zoom, y: y + (old.y - now.y) * zoom, zoom } : { x, y, zoom };
    if (there.x !== x || there.y !== y) void flow.setViewport(there);
    const { clientWidth: width = 1, clientHeight: height = 1 } = frame.current ?? {};
    const size = { width, height };
    const isSeen = (box: Box) => meet(box, windowOf({ x, y, zoom }, size));
    const came = awaiting.current ? cameBeside(awaiting.current.id, boxes, was.boxes) : [];
    if (came.length > 0) awaiting.current = null;
    const wanted = came.length > 0 ? came : wantedOf(boxes, was.boxes, anchor?.id ?? null, before.current.path === was.path ? null : path, isSeen);
    const isNew = ended.length > 0 && was.ends !== ends;
    const here = isNew ? framing(there, ended, size, belowOf(width)) : (came.length > 0 ? moved : showing)(there, wanted, [...boxes.values()], size, belowOf(width));
    if (here !== there) void flow.setViewport(here, { duration: STILL.matches ? 0 : MOVING_MS });
    if (isNew || wanted.length > 0) isPart.current ||= outside(nodes, here, size) > 0;
    if (here !== there || boxes.size !== was.boxes.size || wanted.length > 0) tell(here);
  }, [nodes, frameBoxes, about, anchor, path, ends, flow, tell]);
  useEffect(() => {
    if (!isAll || !wantsFocus.current) return;
    wantsFocus.current = false;
    // Nodes are there once the window has moved to them; details that opened have the focus already.
    requestAnimationFrame(() => requestAnimationFrame(() => document.activeElement === document.body && focusNode(".node.root .node-face")));
  }, [isAll, nodes]);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    let { clientWidth: width, clientHeight: height } = element;
    const watch = new ResizeObserver(() => {
      const [size, isWider] = [{ width, height }, element.clientWidth >= width];
      ({ clientWidth: width, clientHeight: height } = element);
      if (size.width === width) return;
      const at = flow.getViewport();
      const all = [...(before.current?.boxes.values() ?? [])];
      // A graph that was in sight as a whole stays so, as long as it can be read.
      const whole = !isWider && all.length > 0 && isWithin(at, around(all), size) ? showing(at, all, all, { width, height }) : at;
      const isFramed = seen.current.length > 0 && before.current?.ends != null && !isWider;
      const after = isFramed ? framing(whole, seen.current.map(boxOf), { width, height }, belowOf(width)) : kept(whole, seen.current, element);
      if (after.x !== at.x || after.y !== at.y || after.zoom !== at.zoom) void flow.setViewport(after);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [flow]);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the nodes in it have the focus
    <div className="canvas" style={SIZE_VARIABLES} role="region" ref={frame} aria-busy={!isAll} onFocus={(event) => reveal(event, flow)} onKeyDown={(event) => step(event, flow, nodes)} aria-label={label}>
      {start && <ReactFlow
        id={id}
        defaultViewport={start.viewport}
        width={start.width}
        height={start.height}
        nodes={all}
        edges={drawn.edges}
        nodeTypes={NODE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgeTypes={EDGE_TYPES}
        edgesFocusable={false}
        elementsSelectable={false}
        onlyRenderVisibleElements={nodes.length > 200}
        minZoom={0.05}
        maxZoom={2}
        onMove={(_event, viewport) => shared?.tell(viewport, follow)}
        onMoveEnd={(_event, viewport) => tell(viewport)}
        onPaneClick={onNowhere}
        onError={ignore}
      >
        <Distance frame={frame} />
        <Background gap={24} size={1.4} />
        <Panel position="bottom-right">
          {nodes.length > 0 && <Overview nodes={nodes} />}
        </Panel>
        <Panel position="bottom-left" className="zoom">
          <Tool icon="plus" text="Zoom in" onClick={() => void flow.zoomIn()} />
          <Tool icon="minus" text="Zoom out" onClick={() => void flow.zoomOut()} />
          <Tool icon="fit" text="Fit everything into the window" onClick={fitAll} />
          <Legend />
        </Panel>
      </ReactFlow>}
    </div>
  );
}

/** The first nodes, and the edges between them. */
function firstOf(nodes: readonly FlowNode[], edges: readonly Edge[], count: number): { nodes: FlowNode[]; edges: Edge[] } {
  const first = nodes.slice(0, count);
  const ids = new Set(first.map((node) => node.id));
  return { nodes: first, edges: edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target)) };
}

/** Arrow keys go from node to node, and the graph moves along. */
function step(event: KeyboardEvent<HTMLElement>, flow: ReactFlowInstance<FlowNode | FrameFlowNode>, nodes: readonly FlowNode[]): void {
  const from = event.target instanceof HTMLElement ? event.target.dataset["node"] : undefined;
  const next = from && beside(new Map(nodes.map((node) => [node.id, boxOf(node)])), from, event.key);
  const node = nodes.find((candidate) => candidate.id === next);
  if (!node) return;
  event.preventDefault();
  const canvas = event.currentTarget;
  const { x, y, width, height } = boxOf(node);
  void flow.setCenter(x + width / 2, y + height / 2, { zoom: flow.getZoom() });
  // Nodes outside the window are not there to be focused before it has moved.
  requestAnimationFrame(() => requestAnimationFrame(() => canvas.querySelector<HTMLElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus({ preventScroll: true })));
}

/** What gets the focus by a key is moved into the window. */
function reveal({ target, currentTarget }: FocusEvent<HTMLElement>, flow: ReactFlowInstance<FlowNode | FrameFlowNode>): void {
  if (!target.matches(".react-flow__node :focus-visible")) return;
  const [canvas, { left, top, width, height }] = [currentTarget.getBoundingClientRect(), target.getBoundingClientRect()];
  const { x, y, zoom } = flow.getViewport();
  // Within the window, of which the canvas is the whole.
  const at = into({ x: 0, y: 0, zoom: 1 }, { x: left - canvas.left, y: top - canvas.top, width, height }, canvas);
  if (at.x !== 0 || at.y !== 0) void flow.setViewport({ x: x + at.x, y: y + at.y, zoom });
}

/** React Flow complains of edges to columns whose places it does not know yet: it draws them once it does. */
function ignore(): void {}

function Tool({ icon, text, onClick }: { icon: IconName; text: string; onClick: () => void }): ReactNode {
  return (
    <button type="button" className="button bare square" aria-label={text} title={text} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
