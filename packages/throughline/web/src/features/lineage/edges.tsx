import { BaseEdge, EdgeLabelRenderer, getBezierPath, type EdgeProps, type EdgeTypes } from "@xyflow/react";
import type { ReactNode } from "react";
import type { NodeId } from "../../graph/types";
import { useActions } from "./actions";

/** A line between two columns; how one is made of the other stands beside its end, and opens how. */
function ColumnLine({ label, target, targetHandleId, ...ends }: EdgeProps): ReactNode {
  const { openColumn } = useActions();
  const [path] = getBezierPath(ends);
  const field = targetHandleId?.slice("in:".length) ?? "";
  return (
    <>
      <BaseEdge path={path} />
      {typeof label === "string" && (
        <EdgeLabelRenderer>
          <button
            type="button"
            className="edge-how nodrag nopan"
            style={{ transform: `translate(-100%, -50%) translate(${ends.targetX - 8}px, ${ends.targetY}px)` }}
            onClick={() => openColumn(target as NodeId, field)}
            aria-label={`${label}: how ${field} is made`}
            title={`How ${field} is made`}
          >
            {label}
          </button>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

export const EDGE_TYPES: EdgeTypes = { column: ColumnLine };
