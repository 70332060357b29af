import "./canvas.css";
import { Background, Panel, ReactFlow, ReactFlowProvider, useReactFlow, type Edge, type ReactFlowInstance } from "@xyflow/react";
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { focusNode, takesFocus } from "../../components/focus";
import { Icon, type IconName } from "../../components/Icon";
import { around, beside, into, meet, viewportFor, type Viewport } from "../../graph/layout";
import type { NodeId } from "../../graph/types";
import { ActionsContext, type Actions } from "./actions";
import { EDGE_TYPES } from "./edges";
import type { FlowNode } from "./flow";
import { Legend } from "./Legend";
import { NODE_TYPES } from "./nodes";
import { useGradually } from "./useGradually";
import { boxOf, Overview, WIDE } from "./Overview";

interface Props {
  label: string;
  nodes: FlowNode[];
  edges: Edge[];
  actions: Actions;
  /** The node that keeps its place on the screen when others come and go. */
  anchor: NodeId | null;
  /** The node that is looked at: it stays in the window when that becomes narrower. Null: those that are other than they were. */
  looked: string | null;
  /** Another text, another graph: it is fitted into the window anew. Null: it is about to be. */
  about: string | null;
  onNowhere: () => void;
  /** How many nodes are out of the window since not all could be readable in it, and how to see them; null: none. */
  onOutside?: (outside: Outside | null) => void;
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

function Stage({ label, nodes, edges, anchor, looked, about, onNowhere, onOutside }: Props): ReactNode {
  const flow = useReactFlow<FlowNode>();
  const frame = useRef<HTMLDivElement>(null);
  const id = useId();
  const before = useRef<{ about: string | null; places: Map<string, { x: number; y: number }> } | null>(null);
  const [start, setStart] = useState<Start | null>(null);
  const seen = useRef<readonly FlowNode[]>([]);
  useLayoutEffect(() => {
    const own = nodes.filter((node) => node.id === looked);
    seen.current = own.length > 0 ? own : nodes.filter((node) => node.data.mark !== null);
  }, [nodes, looked]);
  const isPart = useRef(false);
  const wantsFocus = useRef(false);
  const count = useGradually(nodes.length);
  const isAll = count >= nodes.length;
  const drawn = useMemo(() => (isAll ? { nodes, edges } : firstOf(nodes, edges, count)), [isAll, nodes, edges, count]);
  const fitAll = useCallback(() => void flow.setViewport(startOf(nodes, frame.current, null).viewport), [flow, nodes]);
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
    const places = new Map(nodes.map((node) => [node.id, node.position]));
    const was = before.current;
    before.current = { about: about ?? was?.about ?? null, places };
    const [old, now] = [was?.places.get(anchor ?? ""), places.get(anchor ?? "")];
    if (!was || (about !== null && was.about !== about)) {
      const root = nodes.find((node) => node.data.isRoot) ?? null;
      const fit = startOf(nodes, frame.current, root);
      const viewport = frame.current ? kept(fit.viewport, seen.current, frame.current) : fit.viewport;
      setStart((first) => first ?? { ...fit, viewport });
      void flow.setViewport(viewport);
      isPart.current = outside(nodes, viewport, fit) > 0;
      tell(viewport);
      wantsFocus.current = takesFocus();
    } else if (old && now && (old.x !== now.x || old.y !== now.y)) {
      const { x, y, zoom } = flow.getViewport();
      void flow.setViewport({ x: x + (old.x - now.x) * zoom, y: y + (old.y - now.y) * zoom, zoom });
    }
  }, [nodes, about, anchor, flow, tell]);
  useEffect(() => {
    if (!isAll || !wantsFocus.current) return;
    wantsFocus.current = false;
    // Nodes are there once the window has moved to them; details that opened have the focus already.
    requestAnimationFrame(() => requestAnimationFrame(() => document.activeElement === document.body && focusNode(".node.root .node-face")));
  }, [isAll, nodes]);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    let width = element.clientWidth;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      const before = flow.getViewport();
      const after = kept(before, seen.current, element);
      if (after.x !== before.x || after.y !== before.y) void flow.setViewport(after);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [flow]);
  return (
    <div className="canvas" role="region" ref={frame} aria-busy={!isAll} onKeyDown={(event) => step(event, flow, nodes)} aria-label={label}>
      {start && <ReactFlow
        id={id}
        defaultViewport={start.viewport}
        width={start.width}
        height={start.height}
        nodes={drawn.nodes}
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
        onMoveEnd={(_event, viewport) => tell(viewport)}
        onPaneClick={onNowhere}
        onError={ignore}
      >
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

interface Start {
  viewport: Viewport;
  width: number;
  height: number;
}

/** The overview's 80 pixels and the panel's margins. */
const BELOW_OVERVIEW = 112;

/** How to look at all nodes, or at what is around one where that would be too small to read. */
function startOf(nodes: readonly FlowNode[], frame: HTMLElement | null, first: FlowNode | null): Start {
  const { clientWidth: width = 1, clientHeight: height = 1 } = frame ?? {};
  return { viewport: viewportFor(nodes.map(boxOf), { width, height }, first && boxOf(first), width < WIDE ? undefined : BELOW_OVERVIEW), width, height };
}

/** How many nodes are not seen at all. */
function outside(nodes: readonly FlowNode[], { x, y, zoom }: Viewport, { width, height }: { width: number; height: number }): number {
  const seen = { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
  return nodes.filter((node) => !meet(boxOf(node), seen)).length;
}

/** The viewport with what is looked at in the window: all of it, or where it is too large the first. */
function kept(viewport: Viewport, looked: readonly FlowNode[], { clientWidth: width, clientHeight: height }: HTMLElement): Viewport {
  const boxes = looked.map(boxOf);
  const all = boxes.length > 0 && around(boxes);
  const box = all && all.width * viewport.zoom <= width && all.height * viewport.zoom <= height ? all : boxes[0];
  return box ? into(viewport, box, { width, height }) : viewport;
}

/** Arrow keys go from node to node, and the graph moves along. */
function step(event: KeyboardEvent<HTMLElement>, flow: ReactFlowInstance<FlowNode>, nodes: readonly FlowNode[]): void {
  const from = event.target instanceof HTMLElement ? event.target.dataset["node"] : undefined;
  const next = from && beside(new Map(nodes.map((node) => [node.id, boxOf(node)])), from, event.key);
  const node = nodes.find((each) => each.id === next);
  if (!node) return;
  event.preventDefault();
  const canvas = event.currentTarget;
  const { x, y, width, height } = boxOf(node);
  void flow.setCenter(x + width / 2, y + height / 2, { zoom: flow.getZoom() });
  // Nodes outside of the window are not there to be focused before it has moved.
  requestAnimationFrame(() => requestAnimationFrame(() => canvas.querySelector<HTMLElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus({ preventScroll: true })));
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
