import { BaseEdge, getBezierPath, type EdgeProps, type EdgeTypes } from "@xyflow/react";
import type { ReactNode } from "react";

/** A line between two columns; how one is made of the other stands beside its end. */
function ColumnLine({ label, ...ends }: EdgeProps): ReactNode {
  const [path] = getBezierPath(ends);
  return <BaseEdge path={path} label={label} labelX={ends.targetX - 40} labelY={ends.targetY} labelBgPadding={[5, 2]} labelBgBorderRadius={4} />;
}

export const EDGE_TYPES: EdgeTypes = { column: ColumnLine };
