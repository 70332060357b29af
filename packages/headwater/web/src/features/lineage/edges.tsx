import { clsx } from "clsx";
import { BaseEdge, EdgeLabelRenderer, type Edge, type EdgeProps, type EdgeTypes } from "@xyflow/react";
import type { ReactNode } from "react";
import type { Place } from "../../graph/layout";
import { besidePath, linePath } from "../../graph/route";
import type { NodeId } from "../../graph/types";
import { useActions } from "./actions";
import { COLUMNS } from "../../strings/lineage";
import styles from "./edges.module.css";

type LineProps = EdgeProps<Edge<{ corners: readonly Place[]; isDown?: boolean; isBeside?: boolean }>>;

/** An edge drawn through its corners. */
function Line({ data, sourceX, sourceY, targetX, targetY }: LineProps): ReactNode {
  const [from, to, corners] = [{ x: sourceX, y: sourceY }, { x: targetX, y: targetY }, data?.corners ?? []];
  return <BaseEdge path={data?.isBeside ? besidePath(from, corners, to) : linePath(from, corners, to, data?.isDown)} />;
}

/** An edge between two columns; the transformation is near its end and opens the details. */
function ColumnLine(line: LineProps): ReactNode {
  const { openColumn } = useActions();
  const { label, target, targetHandleId, targetX, targetY } = line;
  const field = targetHandleId?.slice("in:".length) ?? "";
  return (
    <>
      <Line {...line} />
      {typeof label === "string" && (
        <EdgeLabelRenderer>
          <button
            type="button"
            className={clsx(styles.how, "nodrag", "nopan")}
            style={{ transform: `translate(-100%, -50%) translate(${targetX - 8}px, ${targetY}px)` }}
            onClick={() => openColumn(target as NodeId, field)}
            aria-label={COLUMNS.transformation(label, field)}
            title={COLUMNS.lineageOf(field)}
          >
            {label}
          </button>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

export const EDGE_TYPES: EdgeTypes = { line: Line, column: ColumnLine };
