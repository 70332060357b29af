import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { asking } from "../../api/answers";
import { isRefusal, type Query } from "../../api/client";
import type { Times } from "../../graph/moments";
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
  /** The graph at all of the moments that are side by side, for the places of nodes; null: there is one moment. */
  aligned: Graph | null;
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
export function useGraph(view: View, pair: readonly Times[] | null): Asked {
  const own = questionsOf(view);
  const paired = pair?.flatMap((times) => questionsOf({ ...view, ...times })) ?? [];
  const all = [...own, ...paired].map((query) => JSON.stringify(query));
  const asked = [...new Set(all)];
  const places = all.map((query) => asked.indexOf(query)).join();
  const count = own.length;
  const found = useQueries({
    queries: asked.map((query) => ({
      ...asking("graph", JSON.parse(query) as Query<"graph">),
      placeholderData: (before: GraphAnswer | undefined) => before,
    })),
    combine,
  });
  const answers = useMemo(() => (places ? places.split(",").map((place) => found.answers[Number(place)]) : []), [found.answers, places]);
  const graph = useMemo(() => merged(answers.slice(0, count)), [answers, count]);
  const aligned = useMemo(() => (answers.length > count ? merged(answers.slice(count)) : null), [answers, count]);
  const [now, then] = [answers[0], answers[count - 1]];
  const both = useMemo(() => (view.from && now && then ? { now, then } : null), [view.from, now, then]);
  return { graph, aligned, both, error: found.error, awaySince: found.awaySince, isFetching: found.isFetching, isStale: found.isStale };
}

/** Some answers as one graph; null while the first is not there. */
function merged(answers: readonly (GraphAnswer | undefined)[]): Graph | null {
  return answers[0] ? merge(answers.filter((answer) => answer !== undefined)) : null;
}

function combine(results: UseQueryResult<GraphAnswer>[]) {
  const away = results.find(({ data, failureReason }) => data && failureReason && !isRefusal(failureReason));
  return {
    answers: results.map((result) => result.data),
    // A node that was not there at the other moment is new: no error.
    error: away ? null : results[0]?.error ?? (results[0]?.data ? null : (results[0]?.failureReason ?? null)),
    awaySince: away ? Math.max(...results.map((result) => result.dataUpdatedAt)) : null,
    isFetching: results.some((result) => result.isFetching),
    isStale: results.some((result) => result.isPlaceholderData || result.isPending),
  };
}
