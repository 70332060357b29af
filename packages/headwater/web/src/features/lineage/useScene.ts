import { useMemo, useState } from "react";
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
  /** The time in milliseconds since which the server has not responded, or null; the last graph stays. */
  awaySince: number | null;
  isFetching: boolean;
  /** The graph belongs to the previous view, because responses are pending. */
  isOutdated: boolean;
}

/** Return everything that is drawn for a view, which may be one of two times side by side. */
export function useScene(view: View, pair: readonly Times[] | null = null): Scene {
  const { data: diff = null, error: diffError } = useAnswer("diff", view.from ? { from: view.from, to: view.at, level: view.level } : null);
  const { graph: received, aligned, both: bothReceived, error, awaySince, isFetching, isPartial } = useGraph(view, pair, diff);
  const { up, down, most, grown, folded: hiddenSides, picks, control, collapsed, chains, expanded, node, lit } = view;
  // Only these properties of a view trigger a new layout.
  const all = useMemo(() => (received ? visible(received, { up, down, most, grown, folded: hiddenSides, picks, control }) : null), [received, up, down, most, grown, hiddenSides, picks, control]);
  const unfoldable = chains ? [node, lit, ...(received?.roots ?? [])].join("\n") : "";
  const toArrange = useMemo(() => all && folded(all, { collapsed, chains, expanded }, new Set(unfoldable.split("\n"))), [all, collapsed, chains, expanded, unfoldable]);
  // Two times side by side show their nodes at the same positions.
  const plan = useMemo(() => aligned && folded(visible(aligned, { up, down, most, grown, folded: hiddenSides, picks, control }), { collapsed, chains, expanded }, new Set(unfoldable.split("\n"))), [aligned, up, down, most, grown, hiddenSides, picks, control, collapsed, chains, expanded, unfoldable]);
  const latest = useMemo(() => (received && toArrange ? { graph: received, shown: toArrange, both: bothReceived } : null), [received, toArrange, bothReceived]);
  const last = useLast(node, latest);
  const { graph, shown, both } = (error ? latest : last) ?? NOTHING;
  const difference = useMemo(() => (view.from && diff ? marksOf(diff, both) : null), [view.from, diff, both]);
  const about = [view.node, view.level, view.up, view.down, view.datasetsOnly, view.at, view.from, view.beside, view.direction].join(" ");
  const drawn = useDrawn(graph, shown, toArrange, view, difference, isPartial ? null : about, plan);
  return { graph, shown, drawn, diff: view.from ? diff : null, trouble: error ?? (awaySince === null ? diffError : null) ?? drawn.trouble, awaySince, isFetching, isOutdated: graph !== received };
}

const NOTHING = { graph: null, shown: null, both: null };

/** Return the value, or while it is null the last one of the same node. */
function useLast<T>(node: string, value: T | null): T | null {
  const [last, setLast] = useState({ node, value });
  if (value !== null && value !== last.value) setLast({ node, value });
  return value ?? (last.node === node ? last.value : null);
}
