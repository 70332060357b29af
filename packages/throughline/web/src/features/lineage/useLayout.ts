import { startTransition, useEffect, useState } from "react";
import { PartError } from "../../components/part";
import { toElk, placesOf, type Place } from "../../graph/layout";
import { cornersOf, type Corners } from "../../graph/route";
import type { LineageNode, NodeId } from "../../graph/types";
import type { Shown } from "../../graph/visible";
import { layOut } from "./elk";

export interface Laid {
  shown: Shown;
  places: Map<NodeId, Place>;
  corners: Corners;
  columns: ReadonlyMap<NodeId, number>;
  about: string | null;
}

interface Layout {
  laid: Laid | null;
  trouble: Error | null;
}

/** What is shown, with its places once the worker has found them; until then what was before. */
export function useLayout(shown: Shown | null, columns: ReadonlyMap<NodeId, number>, about: string | null): Layout {
  const [layout, setLayout] = useState<Layout>({ laid: null, trouble: null });
  const rows = JSON.stringify([...columns]);
  useEffect(() => {
    if (!shown) return;
    let isOld = false;
    const asked = new Map(JSON.parse(rows) as [NodeId, number][]);
    const graph = toElk(shown.nodes, shown.edges, (node: LineageNode) => asked.get(node.id) ?? null);
    const start = performance.now();
    layOut(graph).then(
      (found) => {
        performance.measure("layout", { start }); // benchmarks/lineage_page.py reads it
        // Drawing 1,000 nodes gives way to clicks and keys.
        if (!isOld) startTransition(() => setLayout({ laid: { shown, places: placesOf(found), corners: cornersOf(found, shown.edges), columns: asked, about }, trouble: null }));
      },
      (trouble: unknown) => {
        if (!isOld) setLayout(({ laid }) => ({ laid, trouble: trouble as Error }));
      },
    );
    return () => {
      isOld = true;
    };
  }, [shown, rows, about]);
  if (layout.trouble instanceof PartError) throw layout.trouble;
  return layout;
}
