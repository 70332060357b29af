import { BaseEdge, EdgeLabelRenderer, getBezierPath, type Edge, type EdgeProps, type EdgeTypes } from "@xyflow/react";
import type { ReactNode } from "react";
import type { Place } from "../../graph/layout";
import { backPath } from "../../graph/route";
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

/** A line that leads back, around the nodes between its ends. */
function BackLine({ data, sourceX, sourceY, targetX, targetY }: EdgeProps<Edge<{ corners: Place[] }>>): ReactNode {
  return <BaseEdge path={backPath({ x: sourceX, y: sourceY }, data?.corners ?? [], { x: targetX, y: targetY })} />;
}

export const EDGE_TYPES: EdgeTypes = { column: ColumnLine, back: BackLine };
