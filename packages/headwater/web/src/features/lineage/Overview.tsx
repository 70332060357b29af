import { clsx } from "clsx";
import { Panel, useOnViewportChange, useReactFlow, useStore, type ReactFlowState, type Viewport } from "@xyflow/react";
import { useMemo, useRef, useState, type PointerEvent, type ReactNode } from "react";
import { around, freeCorner, outline, type Box } from "../../graph/layout";
import { TROUBLES } from "../../graph/state";
import type { FlowNode } from "./flow";
import { LINEAGE } from "../../strings/lineage";
import styles from "./overview.module.css";

/** The overview is hidden on canvases narrower than this. */
export const WIDE = 900;

/** The size of the overview with the margin to the window. */
export const OVERVIEW = { width: 137, height: 97 };

/**
 * A small overview of the graph with the visible part; a click or drag moves the viewport. Hidden if the whole graph is visible.
 * It is in a corner without nodes. If there is none, it is only shown while the viewport moves: faint, and clicks go to the nodes below it.
 */
export function Overview({ nodes }: { nodes: readonly FlowNode[] }): ReactNode {
  const flow = useReactFlow();
  const drawing = useRef<SVGSVGElement>(null);
  const [x, y, zoom] = useStore(transformOf);
  const [width, height] = [useStore(widthOf), useStore(heightOf)];
  // The corner changes only when the viewport is at rest; otherwise the overview would jump while the graph moves.
  const [settled, setSettled] = useState<Viewport>(() => flow.getViewport());
  const [isMoving, setMoving] = useState(false);
  const isDragged = useRef(false);
  useOnViewportChange({
    onStart: () => setMoving(true),
    onEnd: (viewport) => {
      setMoving(false);
      if (!isDragged.current) setSettled(viewport);
    },
  });
  const drop = () => {
    isDragged.current = false;
    setSettled(flow.getViewport());
  };
  const corner = useMemo(() => freeCorner(nodes.map(boxOf), settled, { width, height }, OVERVIEW), [nodes, settled, width, height]);
  // One path per type: redrawing 1,000 elements at every movement is slow.
  const { jobs, datasets, troubles, all } = useMemo(() => {
    const boxes = (type: FlowNode["type"]) => nodes.filter((node) => node.type === type).map(boxOf);
    const troubles = TROUBLES.map((trouble) => ({ trouble, path: outline(nodes.filter((node) => node.data.trouble === trouble).map(boxOf)) }));
    return { jobs: outline(boxes("job")), datasets: outline(boxes("dataset")), troubles, all: around(nodes.map(boxOf)) };
  }, [nodes]);
  const visible = { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
  const frame = around([all, visible]);
  const isAllVisible = frame.width <= visible.width + 1 && frame.height <= visible.height + 1;
  const moveTo = (event: PointerEvent) => {
    const toGraph = drawing.current?.getScreenCTM()?.inverse();
    if (!toGraph || event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    isDragged.current = true;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(toGraph);
    void flow.setCenter(point.x, point.y, { zoom });
  };
  if (isAllVisible || width < WIDE || (corner === null && !isMoving)) return null;
  return (
    <Panel position={corner ?? "bottom-right"} className={clsx(corner === null && styles.faint)}>
      <svg ref={drawing} className={styles.overview} role="img" aria-label={LINEAGE.overview} viewBox={`${frame.x} ${frame.y} ${frame.width} ${frame.height}`} onPointerDown={moveTo} onPointerMove={moveTo} onLostPointerCapture={drop}>
        <path d={datasets} />
        <path className={styles.job} d={jobs} />
        {troubles.map(({ trouble, path }) => path && <path key={trouble} className={clsx(styles.alarm, styles[trouble])} data-trouble={trouble} d={path} />)}
        <path className={styles.unseen} d={outline([frame, visible])} />
      </svg>
    </Panel>
  );
}

export function boxOf({ position, width = 0, height = 0 }: FlowNode): Box {
  return { ...position, width, height };
}

const transformOf = (state: ReactFlowState) => state.transform;
const widthOf = (state: ReactFlowState) => state.width;
const heightOf = (state: ReactFlowState) => state.height;
