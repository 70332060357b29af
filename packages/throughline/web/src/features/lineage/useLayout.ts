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
  shown: Shown;
  columns: ReadonlyMap<NodeId, number>;
  about: string | null;
  /** The boxes of the plan that it is a part of. */
  extent: readonly Box[];
}

interface Layout {
  laid: Laid | null;
  trouble: Error | null;
}

/**
 * The shown nodes with their places, those of a plan of more nodes if there is one.
 *
 * Until the worker has found them, the previous ones are returned.
 */
export function useLayout(shown: Shown | null, plan: Shown | null, columns: ReadonlyMap<NodeId, number>, { width, height }: Room, direction: Direction, about: string | null): Layout & { pending: number | null } {
  const [layout, setLayout] = useState<Layout>({ laid: null, trouble: null });
  const rows = JSON.stringify([...columns]);
  useEffect(() => {
    if (!shown) return;
    let isOld = false;
    const asked = new Map(JSON.parse(rows) as [NodeId, number][]);
    const start = performance.now();
    const { nodes, edges } = plan ?? shown;
    arrange(nodes, edges, (id) => asked.get(id) ?? null, { direction, room: { width, height } }, layOut).then(
      (found) => {
        performance.measure("layout", { start }); // benchmarks/lineage_page.py reads it
        // Drawing 1,000 nodes gives way to clicks and keys.
        if (!isOld) startTransition(() => setLayout({ laid: { ...(plan ? within(found, shown) : found), extent: plan ? boxesOf(found, asked) : [], shown, columns: asked, about }, trouble: null }));
      },
      (trouble: unknown) => {
        if (!isOld) setLayout(({ laid }) => ({ laid, trouble: trouble as Error }));
      },
    );
    return () => {
      isOld = true;
    };
  }, [shown, plan, rows, width, height, direction, about]);
  if (layout.trouble instanceof ChunkLoadError) throw layout.trouble;
  const isPending = shown !== null && layout.laid?.shown !== shown && layout.trouble === null;
  return { ...layout, pending: isPending ? shown.nodes.length : null };
}

/** The part of an arrangement that has what is shown. */
function within(all: Arrangement, { nodes, edges }: Shown): Arrangement {
  const ids = new Set<string>(nodes.map((node) => node.id));
  const ways = new Map([...all.corners].map(([edge, way]) => [edgeKey(edge), way]));
  const corners = new Map(edges.flatMap((edge) => {
    const way = ways.get(edgeKey(edge));
    return way ? [[edge, way] as const] : [];
  }));
  return { ...all, corners, frames: all.frames.filter(({ frame }) => frame.members.some((id) => ids.has(id))) };
}

function boxesOf({ places, frames }: Arrangement, columns: ReadonlyMap<NodeId, number>): Box[] {
  return [...frames, ...[...places].map(([id, place]) => ({ ...place, ...sizeOf(columns.get(id) ?? null) }))];
}
