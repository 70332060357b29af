import { useMemo } from "react";
import { useAnswer } from "../../api/answers";
import { marksOf, type DiffAnswer } from "../../graph/difference";
import type { Graph } from "../../graph/types";
import type { Times } from "../../graph/moments";
import { folded } from "../../graph/groups";
import { visible, type Shown } from "../../graph/visible";
import type { View } from "../../graph/view";
import { useDrawn } from "./useDrawn";
import { useGraph } from "./useGraph";

export interface Scene {
  graph: Graph | null;
  shown: Shown | null;
  drawn: ReturnType<typeof useDrawn>;
  diff: DiffAnswer | null;
  trouble: Error | null;
  /** Since when the server does not answer, in milliseconds; the last graph stays. */
  awaySince: number | null;
  isFetching: boolean;
}

/** All that is drawn of a view, which may be one of a pair of moments. */
export function useScene(view: View, pair: readonly Times[] | null = null): Scene {
  const { graph, aligned, both, error, awaySince, isFetching, isStale } = useGraph(view, pair);
  const { up, down, grown, folded: hiddenSides, control, collapsed, chains, expanded, node, lit } = view;
  // Nothing else of a view lays the graph out anew.
  const all = useMemo(() => (graph ? visible(graph, { up, down, grown, folded: hiddenSides, control }) : null), [graph, up, down, grown, hiddenSides, control]);
  const kept = chains ? [node, lit, ...(graph?.roots ?? [])].join("\n") : "";
  const shown = useMemo(() => all && folded(all, { collapsed, chains, expanded }, new Set(kept.split("\n"))), [all, collapsed, chains, expanded, kept]);
  // Both of two moments have their nodes at the same places.
  const plan = useMemo(() => aligned && folded(visible(aligned, { up, down, grown, folded: hiddenSides, control }), { collapsed, chains, expanded }, new Set(kept.split("\n"))), [aligned, up, down, grown, hiddenSides, control, collapsed, chains, expanded, kept]);
  const { data: diff = null, error: diffError } = useAnswer("diff", view.from ? { from: view.from, to: view.at, level: view.level } : null);
  const difference = useMemo(() => (view.from && diff ? marksOf(diff, both) : null), [view.from, diff, both]);
  const about = [view.node, view.level, view.up, view.down, view.datasetsOnly, view.at, view.from, view.beside, view.direction].join(" ");
  const drawn = useDrawn(graph, shown, view, difference, isStale ? null : about, plan);
  return { graph, shown, drawn, diff: view.from ? diff : null, trouble: error ?? (awaySince === null ? diffError : null) ?? drawn.trouble, awaySince, isFetching };
}
