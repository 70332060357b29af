import { clsx } from "clsx";
import { useReactFlow, useStore, type ReactFlowState } from "@xyflow/react";
import { useMemo, useRef, type PointerEvent, type ReactNode } from "react";
import { around, outline, type Box } from "../../graph/layout";
import { TROUBLES } from "../../graph/state";
import type { FlowNode } from "./flow";
import styles from "./overview.module.css";

/** Where there is less room for the graph than this, it has all of it. */
export const WIDE = 900;

/** While not all of it is in the window: the whole graph, small, and the part of it that is seen; a click or a drag goes there. */
export function Overview({ nodes }: { nodes: readonly FlowNode[] }): ReactNode {
  const flow = useReactFlow();
  const drawing = useRef<SVGSVGElement>(null);
  const [x, y, zoom] = useStore(transformOf);
  const [width, height] = [useStore(widthOf), useStore(heightOf)];
  // One path for all of a type: 1,000 elements would be drawn anew at each movement.
  const { jobs, datasets, troubles, all } = useMemo(() => {
    const boxes = (type: FlowNode["type"]) => nodes.filter((node) => node.type === type).map(boxOf);
    const troubles = TROUBLES.map((trouble) => ({ trouble, path: outline(nodes.filter((node) => node.data.trouble === trouble).map(boxOf)) }));
    return { jobs: outline(boxes("job")), datasets: outline(boxes("dataset")), troubles, all: around(nodes.map(boxOf)) };
  }, [nodes]);
  const seen = { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
  const frame = around([all, seen]);
  const isAllSeen = frame.width <= seen.width + 1 && frame.height <= seen.height + 1;
  const go = (event: PointerEvent) => {
    const here = drawing.current?.getScreenCTM()?.inverse();
    if (!here || event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(here);
    void flow.setCenter(point.x, point.y, { zoom });
  };
  if (isAllSeen || width < WIDE) return null;
  return (
    <svg ref={drawing} className={styles.overview} role="img" aria-label="Overview of the graph" viewBox={`${frame.x} ${frame.y} ${frame.width} ${frame.height}`} onPointerDown={go} onPointerMove={go}>
      <path d={datasets} />
      <path className={styles.job} d={jobs} />
      {troubles.map(({ trouble, path }) => path && <path key={trouble} className={clsx(styles.alarm, styles[trouble])} data-trouble={trouble} d={path} />)}
      <path className={styles.unseen} d={outline([frame, seen])} />
    </svg>
  );
}

export function boxOf({ position, width = 0, height = 0 }: FlowNode): Box {
  return { ...position, width, height };
}

const transformOf = (state: ReactFlowState) => state.transform;
const widthOf = (state: ReactFlowState) => state.width;
const heightOf = (state: ReactFlowState) => state.height;
