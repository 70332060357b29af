import { ReactFlow, ReactFlowProvider } from "@xyflow/react";
import { createRoot } from "react-dom/client";
import type { ReactNode } from "react";
import { around } from "../../../graph/layout";
import { SIZE_VARIABLES } from "../../../graph/sizes";
import { ActionsContext, type Actions } from "../actions";
import { EDGE_TYPES } from "../edges";
import { flowFrames } from "../flow";
import { NODE_TYPES } from "../nodes";
import { boxOf } from "../Overview";
import type { Scene } from "../useScene";
import { drawingOf, type Drawing } from "./drawing";
import canvas from "../canvas.module.css";
import styles from "./picture.module.css";

export { pngOf } from "./drawing";

type Drawn = Pick<Scene["drawn"], "nodes" | "edges" | "frames">;

const MARGIN = 40;
const HEADING = 64;
const LEAST_WIDTH = 480;
/** The number of screen updates after which an edge without a place will not get one. */
const MOST_UPDATES = 120;

/** Draw the whole graph with the components that show it on the screen, beside the screen. */
export async function drawGraph(drawn: Drawn, title: string, about: string): Promise<Drawing> {
  const frame = document.createElement("div");
  frame.inert = true;
  document.body.append(frame);
  const root = createRoot(frame);
  root.render(<Picture drawn={drawn} title={title} about={about} />);
  try {
    for (let update = 0; update < MOST_UPDATES; update++) {
      await new Promise(requestAnimationFrame);
      if (frame.querySelectorAll(".react-flow__edge").length === drawn.edges.length && frame.querySelector(".react-flow__node")) break;
    }
    await document.fonts.ready;
    return await drawingOf(frame.firstElementChild as HTMLElement);
  } finally {
    root.unmount();
    frame.remove();
  }
}

function Picture({ drawn: { nodes, edges, frames }, title, about }: { drawn: Drawn; title: string; about: string }): ReactNode {
  const { x, y, width, height } = around([...nodes.map(boxOf), ...frames.map(({ box }) => box)]);
  const size = { width: Math.round(Math.max(width, LEAST_WIDTH)) + 2 * MARGIN, height: Math.round(height) + HEADING + 2 * MARGIN };
  return (
    <div className={styles.picture} style={{ ...SIZE_VARIABLES, ...size }}>
      <div className={styles.heading} data-heading>
        <p className={styles.title}>{title}</p>
        <p className="muted">{about}</p>
      </div>
      <div className={canvas.canvas}>
        <ActionsContext value={WITHOUT_ACTIONS}>
          <ReactFlowProvider>
            <ReactFlow
              id="picture"
              {...size}
              defaultViewport={{ x: MARGIN - x, y: MARGIN + HEADING - y, zoom: 1 }}
              nodes={[...flowFrames(frames), ...nodes]}
              edges={edges}
              nodeTypes={NODE_TYPES}
              edgeTypes={EDGE_TYPES}
              onError={ignore}
            />
          </ReactFlowProvider>
        </ActionsContext>
      </div>
    </div>
  );
}

/** Ignore React Flow's errors about edges to columns that it has not measured yet. */
function ignore(): void {}

const WITHOUT_ACTIONS: Actions = { select: ignore, toggle: ignore, step: ignore, toggleColumns: ignore, lockColumn: ignore, locked: [], toggleLocked: ignore, seek: ignore, openColumn: ignore };
