import { useStore, type ReactFlowState } from "@xyflow/react";
import { useLayoutEffect, type RefObject } from "react";

/** Below this zoom, the text of nodes is unreadable and nodes are drawn as blocks. */
const FAR = 0.3;
const LABEL = 13;

/** Mark the canvas as zoomed far out, and set the size of its labels. */
export function Distance({ frame }: { frame: RefObject<HTMLElement | null> }): null {
  const step = useStore(stepOf);
  useLayoutEffect(() => {
    frame.current?.toggleAttribute("data-far", step !== null);
    frame.current?.style.setProperty("--label", `${LABEL / 2 ** ((step ?? 0) / 2)}px`);
  }, [frame, step]);
  return null;
}

/** Return the zoom in steps, so that labels do not change with every movement; null if not far out. */
function stepOf({ transform: [, , zoom] }: ReactFlowState): number | null {
  return zoom < FAR ? Math.round(2 * Math.log2(zoom)) : null;
}
