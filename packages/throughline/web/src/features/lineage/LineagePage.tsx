import { useEffect, useMemo, useState, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { useView } from "../../app/address";
import { Trouble } from "../../components/Trouble";
import { marksOf } from "../../graph/difference";
import type { NodeId } from "../../graph/types";
import { visible } from "../../graph/visible";
import { Details } from "../details/Details";
import { Timeline } from "../timeline/Timeline";
import { Canvas } from "./Canvas";
import { Changes } from "./Changes";
import { Notes } from "./Notes";
import { Toolbar } from "./Toolbar";
import { useActionsOf } from "./useActionsOf";
import { useDrawn } from "./useDrawn";
import { useGraph } from "./useGraph";

/** The graph around a node, its details beside it, and the differences between two moments. */
export default function LineagePage(): ReactNode {
  const [view, change] = useView();
  const { graph, error, isFetching, isStale } = useGraph(view);
  const { up, down, grown, folded, datasetsOnly, control } = view;
  // Nothing else of a view lays the graph out anew.
  const shown = useMemo(() => (graph ? visible(graph, { up, down, grown, folded, datasetsOnly, control }) : null), [graph, up, down, grown, folded, datasetsOnly, control]);
  const { data: diff, error: diffError } = useAnswer("diff", view.from ? { from: view.from, to: view.at, level: view.level } : null);
  const difference = useMemo(() => (view.from && diff ? marksOf(diff) : null), [view.from, diff]);
  const about = [view.node, view.level, view.up, view.down, view.datasetsOnly, view.at, view.from].join(" ");
  const drawn = useDrawn(graph, shown, view, difference, isStale ? null : about);
  const [anchor, setAnchor] = useState<NodeId | null>(null);
  const actions = useActionsOf(view, change, setAnchor);
  useEffect(() => {
    document.title = view.node ? `${view.node.slice(view.node.lastIndexOf(":") + 1)} · throughline` : "throughline";
  }, [view.node]);
  useEffect(() => {
    const leave = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select");
      if (event.key === "Escape" && !isTyping) change(view.open ? { open: null, tab: null } : { lit: null, column: null });
    };
    window.addEventListener("keydown", leave);
    return () => window.removeEventListener("keydown", leave);
  }, [view.open, change]);
  const trouble = error ?? diffError;
  return (
    <main className="lineage">
      <h1 className="hidden">Lineage of {view.node}</h1>
      {view.from && diff && <Changes told={diff} view={view} change={change} />}
      <div className="stage">
        <Toolbar view={view} change={change} graph={graph} isFetching={isFetching} />
        {trouble ? (
          <div className="trouble">
            <Trouble error={trouble}>
              {view.at && (
                <button type="button" className="link" onClick={() => change({ at: null, from: null })}>
                  Look at the present
                </button>
              )}
            </Trouble>
          </div>
        ) : (
          <Canvas
            nodes={drawn.nodes}
            edges={drawn.edges}
            actions={actions}
            anchor={anchor}
            about={drawn.about}
            onNowhere={() => (view.lit || view.column) && change({ lit: null, column: null })}
          />
        )}
        {view.node && !trouble && <Timeline view={view} change={change} />}
        {shown && graph && !trouble && <Notes view={view} change={change} graph={graph} shown={shown} />}
      </div>
      {view.open && <Details key={view.open} view={view} change={change} />}
    </main>
  );
}
