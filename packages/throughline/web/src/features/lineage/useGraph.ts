import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { asking } from "../../api/answers";
import { isRefusal, type Query } from "../../api/client";
import type { Both } from "../../graph/difference";
import { merge } from "../../graph/merge";
import type { Graph, GraphAnswer } from "../../graph/types";
import { AUTO, type View } from "../../graph/view";

/** The questions whose answers together are what a view shows: one for each moment, the newer first. */
function questionsOf(view: View): Query<"graph">[] {
  const { level } = view;
  if (view.up === AUTO || view.down === AUTO) return []; // How many steps are shown is about to be known.
  if (!view.node && view.from) return []; // The difference of the whole lineage, around no node.
  const asOf = view.at ?? undefined;
  const columns = view.columns.length > 0 || view.column ? true : undefined;
  const datasets = view.datasetsOnly ? true : undefined;
  const around = { node: view.node, up: view.up, down: view.down, grown: view.grown, level, datasets, columns };
  // What is gone since the other moment is drawn too.
  return [{ ...around, asOf }, ...(view.from ? [{ ...around, asOf: view.from }] : [])];
}

interface Asked {
  graph: Graph | null;
  /** Where two moments are compared: the graph around the node at both. */
  both: Both | null;
  error: Error | null;
  /** Since when the server does not answer, in milliseconds, while a graph is there; null: it does. */
  awaySince: number | null;
  isFetching: boolean;
  /** Whether some of it is of the view before, because answers are still to come. */
  isStale: boolean;
}

/** The graph of a view; null until the first response. */
export function useGraph(view: View): Asked {
  const found = useQueries({
    queries: questionsOf(view).map((query) => ({
      ...asking("graph", query),
      placeholderData: (before: GraphAnswer | undefined) => before,
    })),
    combine,
  });
  const { answers } = found;
  const graph = useMemo(() => (answers[0] ? merge(answers.filter((each) => each !== undefined)) : null), [answers]);
  const [now, then] = [answers[0], answers.at(-1)];
  const both = useMemo(() => (view.from && now && then ? { now, then } : null), [view.from, now, then]);
  return { graph, both, error: found.error, awaySince: found.awaySince, isFetching: found.isFetching, isStale: found.isStale };
}

function combine(results: UseQueryResult<GraphAnswer>[]) {
  const away = results.find(({ data, failureReason }) => data && failureReason && !isRefusal(failureReason));
  return {
    answers: results.map((each) => each.data),
    // A node that was not there at the other moment is new: no error.
    error: away ? null : results[0]?.error ?? (results[0]?.data ? null : (results[0]?.failureReason ?? null)),
    awaySince: away ? Math.max(...results.map((each) => each.dataUpdatedAt)) : null,
    isFetching: results.some((each) => each.isFetching),
    isStale: results.some((each) => each.isPlaceholderData || each.isPending),
  };
}
