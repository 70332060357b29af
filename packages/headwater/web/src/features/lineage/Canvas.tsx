import { clsx } from "clsx";
import { Background, Panel, ReactFlow, ReactFlowProvider, useReactFlow, type Edge, type ReactFlowInstance } from "@xyflow/react";
import { useCallback, useEffect, useEffectEvent, useId, useLayoutEffect, useMemo, useRef, useState, type FocusEvent, type KeyboardEvent, type ReactNode } from "react";
import { focusNode, ROOT_NODE, takesFocus } from "../../components/focus";
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
import { spaceBelow, addedBeside, focusedOf, keepInWindow, MOVING_MS, countOutside, startOf, REDUCED_MOTION, boxesToShow, windowOf, type Focused, type Start } from "./viewports";
import { NODE_TYPES } from "./nodes";
import { firstOf, useGradually } from "./useGradually";
import { boxOf, Overview } from "./Overview";
import { LINEAGE } from "../../strings/lineage";
import styles from "./canvas.module.css";
import controls from "../../components/controls.module.css";

interface Props {
  label: string;
  nodes: FlowNode[];
  edges: Edge[];
  frames: readonly { box: FrameBox; trouble: Trouble | null }[];
  /** Boxes of all nodes in the layout, drawn or not. */
  extent: readonly Box[];
  /** The viewport shared with the graph of another time. */
  shared: SharedViewport | null;
  actions: Actions;
  /** The node that keeps its position on the screen when other nodes are added or removed. */
  anchor: Anchor | null;
  /** The nodes of the locked path, to bring into the window. */
  path: ReadonlySet<string> | null;
  /** Nodes to bring into the window together, such as both ends of an edge. */
  ends: readonly string[] | null;
  /** The node to keep in the window when the window narrows; null: the changed nodes. */
  focused: string | null;
  /** The identity of the graph; a new one is fitted into the window. Null while the graph is loading. */
  about: string | null;
  onPaneClick: () => void;
  /** Report the nodes outside the window; null: none. */
  onOutside?: (outside: Outside | null) => void;
}

/** The last clicked node; `isOpening` if the click shows more nodes beside it. */
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
        <FlowCanvas {...props} />
      </ReactFlowProvider>
    </ActionsContext>
  );
}

/**
 * The drawn graph in its viewport.
 *
 * A new graph (`about`) is fitted into the window. Otherwise the anchor keeps its position on the screen, and the viewport moves only
 * as far as needed for new nodes, the locked path or the selected ends. `before` has what was shown last.
 */
function FlowCanvas({ label, nodes, edges, frames, extent, shared, anchor, path, ends, focused, about, onPaneClick, onOutside }: Props): ReactNode {
  const flow = useReactFlow<FlowNode | FrameFlowNode>();
  const frame = useRef<HTMLDivElement>(null);
  const id = useId();
  const opening = useRef<Anchor | null>(null);
  useLayoutEffect(() => {
    opening.current = anchor?.isOpening ? anchor : null;
  }, [anchor]);
  const before = useRef<{ about: string | null; path: string; ends: readonly string[] | null; boxes: Map<string, Box> } | null>(null);
  const [start, setStart] = useState<Start | null>(null);
  const inFocus = useRef<Focused>({ nodes: [], headers: [] });
  useLayoutEffect(() => {
    inFocus.current = focusedOf(nodes, frames, ends ?? [focused ?? ""]);
  }, [nodes, frames, focused, ends]);
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
  const reportOutside = useCallback(
    (viewport: Viewport) => {
      const { clientWidth: width = 0, clientHeight: height = 0 } = frame.current ?? {};
      const count = countOutside(nodes, viewport, { width, height });
      onOutside?.(count > 0 ? { count, fitAll } : null);
    },
    [nodes, fitAll, onOutside],
  );
  // Set the viewport before nodes are drawn; otherwise the nodes of the previous viewport are drawn too.
  useLayoutEffect(() => {
    if (nodes.length === 0) {
      // Mount React Flow before the nodes arrive, because drawing them takes long.
      setStart((first) => first ?? startOf([], [], frame.current, null));
      return;
    }
    const boxes = new Map(nodes.map((node) => [node.id, boxOf(node)]));
    const previous = before.current;
    before.current = { about: about ?? previous?.about ?? null, path: [...(path ?? [])].join("\n"), ends, boxes };
    const endBoxes = (ends ?? []).flatMap((id) => boxes.get(id) ?? []);
    const [old, now] = [previous?.boxes.get(anchor?.id ?? ""), boxes.get(anchor?.id ?? "")];
    if (!previous || (about !== null && previous.about !== about)) {
      const root = nodes.find((node) => node.data.isRoot) ?? null;
      const fit = startOf(nodes, frameBoxes, frame.current, root);
      const focusedViewport = frame.current ? keepInWindow(fit.viewport, inFocus.current, frame.current) : fit.viewport;
      const viewport = endBoxes.length > 0 ? framing(fit.viewport, endBoxes, fit, spaceBelow(fit.width)) : focusedViewport;
      setStart((first) => first ?? { ...fit, viewport });
      void flow.setViewport(viewport);
      reportOutside(viewport);
      wantsFocus.current = takesFocus();
      return;
    }
    const { x, y, zoom } = flow.getViewport();
    const anchored = old && now ? { x: x + (old.x - now.x) * zoom, y: y + (old.y - now.y) * zoom, zoom } : { x, y, zoom };
    if (anchored.x !== x || anchored.y !== y) void flow.setViewport(anchored);
    const { clientWidth: width = 1, clientHeight: height = 1 } = frame.current ?? {};
    const size = { width, height };
    const isVisible = (box: Box) => meet(box, windowOf({ x, y, zoom }, size));
    const added = opening.current ? addedBeside(opening.current.id, boxes, previous.boxes) : [];
    if (added.length > 0) opening.current = null;
    const shownBoxes = added.length > 0 ? added : boxesToShow(boxes, previous.boxes, anchor?.id ?? null, before.current.path === previous.path ? null : path, isVisible);
    const isNew = endBoxes.length > 0 && previous.ends !== ends;
    const target = isNew ? framing(anchored, endBoxes, size, spaceBelow(width)) : (added.length > 0 ? moved : showing)(anchored, shownBoxes, [...boxes.values()], size, spaceBelow(width));
    if (target !== anchored) void flow.setViewport(target, { duration: REDUCED_MOTION.matches ? 0 : MOVING_MS });
    reportOutside(target);
  }, [nodes, frameBoxes, about, anchor, path, ends, flow, reportOutside]);
  useEffect(() => {
    if (!isAll || !wantsFocus.current) return;
    wantsFocus.current = false;
    // Nodes are mounted after the viewport has moved to them. Open details keep the focus.
    requestAnimationFrame(() => requestAnimationFrame(() => document.activeElement === document.body && focusNode(ROOT_NODE)));
  }, [isAll, nodes]);
  const fitOf = useEffectEvent(() => startOf(nodes, frameBoxes, frame.current, null).viewport);
  const onResize = useEffectEvent(() => reportOutside(flow.getViewport()));
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    let { clientWidth: width, clientHeight: height } = element;
    const watch = new ResizeObserver(() => {
      const size = { width, height };
      ({ clientWidth: width, clientHeight: height } = element);
      const at = flow.getViewport();
      const all = [...(before.current?.boxes.values() ?? [])];
      // A graph that was entirely in the window stays so.
      const whole = all.length > 0 && isWithin(at, around(all), size) ? fitOf() : at;
      const isFramed = inFocus.current.nodes.length > 0 && before.current?.ends != null && width < size.width;
      const focusedViewport = width === size.width ? whole : keepInWindow(whole, inFocus.current, element);
      const after = isFramed ? framing(whole, inFocus.current.nodes.map(boxOf), { width, height }, spaceBelow(width)) : focusedViewport;
      if (after.x !== at.x || after.y !== at.y || after.zoom !== at.zoom) void flow.setViewport(after);
      else onResize();
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [flow]);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- its nodes take the focus
    <div className={styles.canvas} style={SIZE_VARIABLES} role="region" ref={frame} aria-busy={!isAll} onFocus={(event) => reveal(event, flow)} onKeyDown={(event) => moveFocus(event, flow, nodes)} aria-label={label}>
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
        onMove={(_event, viewport) => shared?.notify(viewport, follow)}
        onMoveEnd={(_event, viewport) => reportOutside(viewport)}
        onPaneClick={onPaneClick}
        onError={ignore}
        proOptions={WITHOUT_ATTRIBUTION}
      >
        <Distance frame={frame} />
        <Background gap={24} size={1.4} />
        {nodes.length > 0 && <Overview nodes={nodes} />}
        <Panel position="bottom-left" className={styles.zoom}>
          <ToolButton icon="plus" text={LINEAGE.zoomIn} onClick={() => void flow.zoomIn()} />
          <ToolButton icon="minus" text={LINEAGE.zoomOut} onClick={() => void flow.zoomOut()} />
          <ToolButton icon="fit" text={LINEAGE.fit} onClick={fitAll} />
          <Legend />
        </Panel>
      </ReactFlow>}
    </div>
  );
}

/** Move the focus between nodes with the arrow keys, and the viewport with it. */
function moveFocus(event: KeyboardEvent<HTMLElement>, flow: ReactFlowInstance<FlowNode | FrameFlowNode>, nodes: readonly FlowNode[]): void {
  const from = event.target instanceof HTMLElement ? event.target.dataset["node"] : undefined;
  const next = from && beside(new Map(nodes.map((node) => [node.id, boxOf(node)])), from, event.key);
  const node = nodes.find((candidate) => candidate.id === next);
  if (!node) return;
  event.preventDefault();
  const canvas = event.currentTarget;
  const { x, y, width, height } = boxOf(node);
  void flow.setCenter(x + width / 2, y + height / 2, { zoom: flow.getZoom() });
  // Nodes outside the window are mounted after the viewport has moved.
  requestAnimationFrame(() => requestAnimationFrame(() => canvas.querySelector<HTMLElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus({ preventScroll: true })));
}

/** Bring an element with keyboard focus into the window. */
function reveal({ target, currentTarget }: FocusEvent<HTMLElement>, flow: ReactFlowInstance<FlowNode | FrameFlowNode>): void {
  if (!target.matches(".react-flow__node :focus-visible")) return;
  const [canvas, { left, top, width, height }] = [currentTarget.getBoundingClientRect(), target.getBoundingClientRect()];
  const { x, y, zoom } = flow.getViewport();
  // In screen coordinates relative to the canvas.
  const at = into({ x: 0, y: 0, zoom: 1 }, { x: left - canvas.left, y: top - canvas.top, width, height }, canvas);
  if (at.x !== 0 || at.y !== 0) void flow.setViewport({ x: x + at.x, y: y + at.y, zoom });
}

/** The legend credits React Flow, because its attribution would cover nodes. */
const WITHOUT_ATTRIBUTION = { hideAttribution: true };

/** Ignore React Flow's errors about edges to columns that it has not measured yet; it draws them later. */
function ignore(): void {}

function ToolButton({ icon, text, onClick }: { icon: IconName; text: string; onClick: () => void }): ReactNode {
  return (
    <button type="button" className={clsx(controls.button, controls.bare, controls.square)} aria-label={text} title={text} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
