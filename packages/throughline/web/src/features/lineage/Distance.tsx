import { useStore, type ReactFlowState } from "@xyflow/react";
import { useLayoutEffect, type RefObject } from "react";

/** Below this zoom no text of a node can be read: nodes are drawn as blocks. */
const FAR = 0.3;
const LABEL = 13;

/** Mark a graph that is seen from far away, with how large its labels have to be. */
export function Distance({ frame }: { frame: RefObject<HTMLElement | null> }): null {
  const step = useStore(stepOf);
  useLayoutEffect(() => {
    frame.current?.classList.toggle("far", step !== null);
    frame.current?.style.setProperty("--label", `${LABEL / 2 ** ((step ?? 0) / 2)}px`);
  }, [frame, step]);
  return null;
}

/** In steps, so that labels do not change with each movement; null: near. */
function stepOf({ transform: [, , zoom] }: ReactFlowState): number | null {
  return zoom < FAR ? Math.round(2 * Math.log2(zoom)) : null;
}
