import { startTransition, useEffect, useState } from "react";
import { ChunkLoadError } from "../../components/lazyView";
import { arrange, type Arrangement, type Room } from "../../graph/arrange";
import { sizeOf, type Box } from "../../graph/layout";
import { edgeKey } from "../../graph/merge";
import type { Direction } from "../../graph/types";
import type { NodeId } from "../../graph/types";
import type { Shown } from "../../graph/visible";
import { layOut } from "./elk";

export interface Laid extends Arrangement {
  /** The node of the view. */
  node: string;
  shown: Shown;
  columns: ReadonlyMap<NodeId, number>;
  about: string | null;
  /** The boxes of all nodes of the plan. */
  extent: readonly Box[];
}

interface Layout {
  laid: Laid | null;
  trouble: Error | null;
}

/**
 * Return the shown nodes with their positions, taken from the layout of a larger plan if there is one.
 *
 * The previous layout is returned until the worker has finished.
 */
export function useLayout(node: string, shown: Shown | null, plan: Shown | null, columns: ReadonlyMap<NodeId, number>, { width, height }: Room, direction: Direction, about: string | null): Layout & { pending: number | null } {
  const [layout, setLayout] = useState<Layout>({ laid: null, trouble: null });
  const rows = JSON.stringify([...columns]);
  useEffect(() => {
    if (!shown) return;
    let isOutdated = false;
    const rowCounts = new Map(JSON.parse(rows) as [NodeId, number][]);
    const start = performance.now();
    const { nodes, edges } = plan ?? shown;
    arrange(nodes, edges, (id) => rowCounts.get(id) ?? null, { direction, room: { width, height } }, layOut).then(
      (arrangement) => {
        performance.measure("layout", { start }); // read by benchmarks/lineage_page.py
        // Clicks and keys interrupt the drawing of 1,000 nodes.
        if (!isOutdated) startTransition(() => setLayout({ laid: { ...(plan ? partOf(arrangement, shown) : arrangement), extent: plan ? boxesOf(arrangement, rowCounts) : [], node, shown, columns: rowCounts, about }, trouble: null }));
      },
      (trouble: unknown) => {
        if (!isOutdated) setLayout(({ laid }) => ({ laid, trouble: trouble as Error }));
      },
    );
    return () => {
      isOutdated = true;
    };
  }, [node, shown, plan, rows, width, height, direction, about]);
  if (layout.trouble instanceof ChunkLoadError) throw layout.trouble;
  const isPending = shown !== null && layout.laid?.shown !== shown && layout.trouble === null;
  return { ...layout, pending: isPending ? shown.nodes.length : null };
}

/** Return the part of an arrangement with the shown nodes and edges. */
function partOf(all: Arrangement, { nodes, edges }: Shown): Arrangement {
  const ids = new Set<string>(nodes.map((node) => node.id));
  const cornersByKey = new Map([...all.corners].map(([edge, corners]) => [edgeKey(edge), corners]));
  const corners = new Map(edges.flatMap((edge) => {
    const points = cornersByKey.get(edgeKey(edge));
    return points ? [[edge, points] as const] : [];
  }));
  return { ...all, corners, frames: all.frames.filter(({ frame }) => frame.members.some((id) => ids.has(id))) };
}

function boxesOf({ places, frames }: Arrangement, columns: ReadonlyMap<NodeId, number>): Box[] {
  return [...frames, ...[...places].map(([id, place]) => ({ ...place, ...sizeOf(columns.get(id) ?? null) }))];
}
