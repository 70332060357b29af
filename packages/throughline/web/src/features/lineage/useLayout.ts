import { startTransition, useEffect, useState } from "react";
import { PartError } from "../../components/part";
import { arrange, type Arrangement, type Room } from "../../graph/arrange";
import type { Direction } from "../../graph/types";
import type { NodeId } from "../../graph/types";
import type { Shown } from "../../graph/visible";
import { layOut } from "./elk";

export interface Laid extends Arrangement {
  shown: Shown;
  columns: ReadonlyMap<NodeId, number>;
  about: string | null;
}

interface Layout {
  laid: Laid | null;
  trouble: Error | null;
}

/** What is shown, with its places once the worker has found them; until then what was before. */
export function useLayout(shown: Shown | null, columns: ReadonlyMap<NodeId, number>, { width, height }: Room, direction: Direction, about: string | null): Layout & { pending: number | null } {
  const [layout, setLayout] = useState<Layout>({ laid: null, trouble: null });
  const rows = JSON.stringify([...columns]);
  useEffect(() => {
    if (!shown) return;
    let isOld = false;
    const asked = new Map(JSON.parse(rows) as [NodeId, number][]);
    const start = performance.now();
    arrange(shown.nodes, shown.edges, (id) => asked.get(id) ?? null, { direction, room: { width, height } }, layOut).then(
      (found) => {
        performance.measure("layout", { start }); // benchmarks/lineage_page.py reads it
        // Drawing 1,000 nodes gives way to clicks and keys.
        if (!isOld) startTransition(() => setLayout({ laid: { ...found, shown, columns: asked, about }, trouble: null }));
      },
      (trouble: unknown) => {
        if (!isOld) setLayout(({ laid }) => ({ laid, trouble: trouble as Error }));
      },
    );
    return () => {
      isOld = true;
    };
  }, [shown, rows, width, height, direction, about]);
  if (layout.trouble instanceof PartError) throw layout.trouble;
  const isPending = shown !== null && layout.laid?.shown !== shown && layout.trouble === null;
  return { ...layout, pending: isPending ? shown.nodes.length : null };
}
