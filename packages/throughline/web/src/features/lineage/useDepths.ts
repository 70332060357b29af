import { useMemo } from "react";
import { useAnswer } from "../../api/answers";
import { AUTO, withDepths, type View } from "../../graph/view";

/** The view with its steps as numbers, as soon as it is known how large the graph is. */
export function useDepths(view: View): View {
  const isAuto = view.up === AUTO || view.down === AUTO;
  const { node, level, datasetsOnly, at } = view;
  const query = { node, level, up: 1, down: 1, datasets: datasetsOnly ? true : undefined, asOf: at ?? undefined };
  const { data, isPlaceholderData, error, failureReason } = useAnswer("graph", isAuto && node ? query : null);
  const known = data && !isPlaceholderData ? data.reach : null;
  const [up, down] = [known?.up, known?.down];
  // The graph's own query reports the error.
  const isUnknown = !node || (up === undefined && (error !== null || failureReason !== null));
  return useMemo(() => {
    if (!isAuto) return view;
    if (up !== undefined && down !== undefined) return withDepths(view, { up, down });
    return isUnknown ? withDepths(view, null) : view;
  }, [view, isAuto, isUnknown, up, down]);
}
