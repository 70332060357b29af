import "./canvas.css";
import { Background, MiniMap, Panel, ReactFlow, ReactFlowProvider, useReactFlow, type Edge, type ReactFlowInstance } from "@xyflow/react";
import { useEffect, useRef, type KeyboardEvent, type ReactNode } from "react";
import { Icon, type IconName } from "../../components/Icon";
import { beside, viewportFor } from "../../graph/layout";
import type { NodeId } from "../../graph/types";
import { ActionsContext, type Actions } from "./actions";
import { EDGE_TYPES } from "./edges";
import type { FlowNode } from "./flow";
import { NODE_TYPES } from "./nodes";

interface Props {
  nodes: FlowNode[];
  edges: Edge[];
  actions: Actions;
  /** The node that keeps its place on the screen when others come and go. */
  anchor: NodeId | null;
  /** Another text, another graph: it is fitted into the window anew. Null: it is about to be. */
  about: string | null;
  onNowhere: () => void;
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

function Stage({ nodes, edges, anchor, about, onNowhere }: Props): ReactNode {
  const flow = useReactFlow<FlowNode>();
  const frame = useRef<HTMLDivElement>(null);
  const before = useRef<{ about: string | null; places: Map<string, { x: number; y: number }> } | null>(null);
  useEffect(() => {
    if (nodes.length === 0) return;
    const places = new Map(nodes.map((node) => [node.id, node.position]));
    const was = before.current;
    before.current = { about: about ?? was?.about ?? null, places };
    const [old, now] = [was?.places.get(anchor ?? ""), places.get(anchor ?? "")];
    if (!was || (about !== null && was.about !== about)) {
      const root = nodes.find((node) => node.data.isRoot) ?? null;
      look(flow, nodes, frame.current, root);
    } else if (old && now && (old.x !== now.x || old.y !== now.y)) {
      const { x, y, zoom } = flow.getViewport();
      void flow.setViewport({ x: x + (old.x - now.x) * zoom, y: y + (old.y - now.y) * zoom, zoom });
    }
  }, [nodes, about, anchor, flow]);
  return (
    <div className="canvas" role="region" ref={frame} onKeyDown={(event) => step(event, flow, nodes)} aria-label="Lineage graph">
      <ReactFlow
        nodes={nodes}
        edges={edges}
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
        onPaneClick={onNowhere}
        onError={ignore}
        ariaLabelConfig={{ "minimap.ariaLabel": "Overview of the graph" }}
      >
        <Background gap={24} size={1.4} />
        <MiniMap pannable zoomable position="bottom-right" nodeClassName={(node) => node.type ?? ""} nodeBorderRadius={20} nodeColor="var(--line-strong)" maskColor="light-dark(#5d616d22, #00000066)" style={{ width: 168, height: 112 }} />
        <Panel position="bottom-left" className="zoom">
          <Tool icon="plus" text="Zoom in" onClick={() => void flow.zoomIn()} />
          <Tool icon="minus" text="Zoom out" onClick={() => void flow.zoomOut()} />
          <Tool icon="fit" text="Fit everything into the window" onClick={() => look(flow, nodes, frame.current, null)} />
        </Panel>
      </ReactFlow>
    </div>
  );
}

/** Look at all nodes, or at what is around one where that would be too small to read. */
function look(flow: ReactFlowInstance<FlowNode>, nodes: readonly FlowNode[], frame: HTMLElement | null, first: FlowNode | null): void {
  if (frame && nodes.length > 0) {
    void flow.setViewport(viewportFor(nodes.map(boxOf), { width: frame.clientWidth, height: frame.clientHeight }, first && boxOf(first)));
  }
}

/** Arrow keys go from node to node, and the graph moves along. */
function step(event: KeyboardEvent, flow: ReactFlowInstance<FlowNode>, nodes: readonly FlowNode[]): void {
  const from = event.target instanceof HTMLElement ? event.target.dataset["node"] : undefined;
  const next = from && beside(new Map(nodes.map((node) => [node.id, boxOf(node)])), from, event.key);
  const node = nodes.find((each) => each.id === next);
  if (!node) return;
  event.preventDefault();
  const { x, y, width, height } = boxOf(node);
  void flow.setCenter(x + width / 2, y + height / 2, { zoom: flow.getZoom() });
  // Nodes outside of the window are not there to be focused before it has moved.
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus({ preventScroll: true })));
}

function boxOf({ position, width = 0, height = 0 }: FlowNode) {
  return { ...position, width, height };
}

/** React Flow complains of edges to columns that are on another page: these are not drawn, as meant. */
function ignore(): void {}

function Tool({ icon, text, onClick }: { icon: IconName; text: string; onClick: () => void }): ReactNode {
  return (
    <button type="button" className="button bare square" aria-label={text} title={text} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
