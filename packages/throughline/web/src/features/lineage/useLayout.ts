import ELK, { type ELK as Elk } from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import { startTransition, useEffect, useState } from "react";
import { toElk, placesOf, type Place } from "../../graph/layout";
import type { LineageNode, NodeId } from "../../graph/types";
import type { Shown } from "../../graph/visible";

// It loads while the graph is asked for.
const worker: Elk = new ELK({ workerUrl });

export interface Laid {
  shown: Shown;
  places: Map<NodeId, Place>;
  columns: Map<NodeId, number>;
  about: string | null;
}

/** What is shown, with its places once the worker has found them; until then what was before. */
export function useLayout(shown: Shown | null, columns: Map<NodeId, number>, about: string | null): Laid | null {
  const [laid, setLaid] = useState<Laid | null>(null);
  const rows = JSON.stringify([...columns]);
  useEffect(() => {
    if (!shown) return;
    let isOld = false;
    const asked = new Map(JSON.parse(rows) as [NodeId, number][]);
    const graph = toElk(shown.nodes, shown.edges, (node: LineageNode) => asked.get(node.id) ?? null);
    void worker.layout(graph).then((found) => {
      // Drawing 1,000 nodes gives way to clicks and keys.
      if (!isOld) startTransition(() => setLaid({ shown, places: placesOf(found), columns: asked, about }));
    });
    return () => {
      isOld = true;
    };
  }, [shown, rows, about]);
  return laid;
}
