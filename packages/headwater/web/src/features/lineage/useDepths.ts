import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { asking, useAnswer } from "../../api/answers";
import { stepsOf, type ColumnTree } from "../../graph/columns";
import { columnOf, lockedIn } from "../../graph/lit";
import { ALL_ROWS, type Side } from "../../graph/types";
import { AUTO, DEEPEST, isWhole, withDepths, withFanOut, type View } from "../../graph/view";

const SIDES: readonly Side[] = ["up", "down"];

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

/** Return the steps to the farthest column of the locked paths on each side; null if no column is locked. */
function usePathSteps(view: View | null): Record<Side, number> | null {
  const columns = view ? lockedIn(view).map(columnOf).filter(([, field]) => field !== ALL_ROWS) : [];
  const answers = useQueries({
    queries: columns.flatMap(([node, field]) => SIDES.map((direction) => asking("columns", { node, field, direction, indirect: true, depth: DEEPEST, asOf: view?.at ?? undefined }))),
  });
  const steps = (side: Side) => Math.max(0, ...answers.map(({ data }) => farthest(data?.[side])));
  return columns.length > 0 ? { up: steps("up"), down: steps("down") } : null;
}

/** Return the steps to the farthest column of a tree, without the column itself. */
function farthest(tree: ColumnTree | null | undefined): number {
  return tree ? Math.max(0, stepsOf(tree) - 1) : 0;
}
