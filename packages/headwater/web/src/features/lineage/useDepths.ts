import { useMemo } from "react";
import { useAnswer } from "../../api/answers";
import { stepsOf, type ColumnTree } from "../../graph/columns";
import { columnOf } from "../../graph/lit";
import { ALL_ROWS } from "../../graph/types";
import { AUTO, DEEPEST, isWhole, withDepths, withFanOut, type View } from "../../graph/view";

/** Collapse large fan-outs, and replace automatic steps with numbers once the size of the graph and of the locked column's path is known. */
export function useDepths(address: View): View {
  const view = useMemo(() => withFanOut(address), [address]);
  const isAuto = view.up === AUTO || view.down === AUTO;
  const { node, level, datasetsOnly, at } = view;
  const query = { node, level, up: 1, down: 1, datasets: datasetsOnly ? true : undefined, asOf: at ?? undefined };
  const { data, isPlaceholderData, error, failureReason } = useAnswer("graph", isAuto && node ? query : null);
  const reach = data && !isPlaceholderData ? data.reach : null;
  const [up, down] = [reach?.up, reach?.down];
  // The graph's own query reports the error.
  const isUnknown = !node || (up === undefined && (error !== null || failureReason !== null));
  const isCut = isAuto && up !== undefined && down !== undefined && !isWhole({ up, down });
  const path = usePathSteps(isCut ? view : null);
  const [pathUp, pathDown] = [path?.up ?? 0, path?.down ?? 0];
  return useMemo(() => {
    if (!isAuto) return view;
    if (up !== undefined && down !== undefined) return withDepths(view, { up, down }, { up: pathUp, down: pathDown });
    return isUnknown ? withDepths(view, null) : view;
  }, [view, isAuto, isUnknown, up, down, pathUp, pathDown]);
}

/** Return the steps to the farthest column of the locked path on each side; null if no column is locked. */
function usePathSteps(view: View | null): Record<"up" | "down", number> | null {
  const [node, field] = columnOf(view?.column ?? "|");
  const query = view?.column && field !== ALL_ROWS ? { node, field, indirect: true, depth: DEEPEST, asOf: view.at ?? undefined } : null;
  const { data: above } = useAnswer("columns", query && { ...query, direction: "up" });
  const { data: below } = useAnswer("columns", query && { ...query, direction: "down" });
  const [up, down] = [farthest(above?.up), farthest(below?.down)];
  return query && { up, down };
}

/** Return the steps to the farthest column of a tree, without the column itself. */
function farthest(tree: ColumnTree | null | undefined): number {
  return tree ? Math.max(0, stepsOf(tree) - 1) : 0;
}
