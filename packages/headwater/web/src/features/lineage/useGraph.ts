import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { asking } from "../../api/answers";
import { isRefusal, type Query } from "../../api/client";
import type { Times } from "../../graph/moments";
import type { Both, DiffAnswer } from "../../graph/difference";
import { merge } from "../../graph/merge";
import type { Graph, GraphAnswer } from "../../graph/types";
import { AUTO, type View } from "../../graph/view";

/** Return the queries for a view: one per time, the newer first. A node that was added did not exist at the older time. */
function queriesOf(view: View, diff: DiffAnswer | null): Query<"graph">[] {
  const { level } = view;
  if (view.up === AUTO || view.down === AUTO) return []; // The steps are not known yet.
  if (!view.node && view.from) return []; // Differences of the whole lineage have no graph.
  const asOf = view.at ?? undefined;
  const columns = view.columns.length > 0 || view.column ? true : undefined;
  const datasets = view.datasetsOnly ? true : undefined;
  const around = { node: view.node, up: view.up, down: view.down, grown: [...new Set([...view.grown, ...view.picks.map(({ of }) => of)])], level, datasets, columns };
  // Nodes removed since the other time are drawn too.
  return [{ ...around, asOf }, ...(view.from && !diff?.added.includes(view.node) ? [{ ...around, asOf: view.from }] : [])];
}

interface GraphResult {
  graph: Graph | null;
  /** The merged graph of all times shown side by side, for the layout; null with one time. */
  aligned: Graph | null;
  /** The graph around the node at both compared times; null without a comparison. */
  both: Both | null;
  error: Error | null;
  /** The time in milliseconds since which the server has not responded while a graph is shown, or null. */
  awaySince: number | null;
  isFetching: boolean;
  /** Part of the graph is missing, because responses are pending. */
  isPartial: boolean;
}

/** The graph of a view; null until its first response. */
export function useGraph(view: View, pair: readonly Times[] | null, diff: DiffAnswer | null): GraphResult {
  const own = queriesOf(view, diff);
  const paired = pair?.flatMap((times) => queriesOf({ ...view, ...times }, times.from === view.from ? diff : null)) ?? [];
  const all = [...own, ...paired].map((query) => JSON.stringify(query));
  const distinct = [...new Set(all)];
  const places = all.map((query) => distinct.indexOf(query)).join();
  const count = own.length;
  const combined = useQueries({
    queries: distinct.map((query) => asking("graph", JSON.parse(query) as Query<"graph">)),
    combine,
  });
  const answers = useMemo(() => (places ? places.split(",").map((place) => combined.answers[Number(place)]) : []), [combined.answers, places]);
  const graph = useMemo(() => merged(answers.slice(0, count)), [answers, count]);
  const aligned = useMemo(() => (answers.length > count ? merged(answers.slice(count)) : null), [answers, count]);
  const [now, then] = [answers[0], answers[count - 1]];
  const both = useMemo(() => (view.from && count > 1 && now && then ? { now, then } : null), [view.from, count, now, then]);
  return { graph, aligned, both, error: combined.error, awaySince: combined.awaySince, isFetching: combined.isFetching, isPartial: combined.isPartial };
}

/** Merge answers into one graph; null without the first answer. */
function merged(answers: readonly (GraphAnswer | undefined)[]): Graph | null {
  return answers[0] ? merge(answers.filter((answer) => answer !== undefined)) : null;
}

function combine(results: UseQueryResult<GraphAnswer>[]) {
  const away = results.find(({ data, failureReason }) => data && failureReason && !isRefusal(failureReason));
  return {
    answers: results.map((result) => result.data),
    // A node that is missing at the other time is new, so that error is ignored.
    error: away ? null : results[0]?.error ?? (results[0]?.data ? null : (results[0]?.failureReason ?? null)),
    awaySince: away ? Math.max(...results.map((result) => result.dataUpdatedAt)) : null,
    isFetching: results.some((result) => result.isFetching),
    isPartial: results.some((result) => result.isPending),
  };
}
