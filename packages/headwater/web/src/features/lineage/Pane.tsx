import { clsx } from "clsx";
import { lazy, Suspense, useCallback, useMemo, useState, type ReactNode } from "react";
import { isUnknown } from "../../api/client";
import type { Change } from "../../navigation/address";
import { Ago } from "../../components/Ago";
import { Icon } from "../../components/Icon";
import { ShownTime } from "../../components/now";
import { Arranging, Skeleton } from "../../components/Skeleton";
import waiting from "../../components/skeleton.module.css";
import { ErrorMessage } from "../../components/ErrorMessage";
import { columnOf } from "../../graph/lit";
import { momentOf, nameOf, pairOf, timesOf } from "../../graph/moments";
import type { SharedViewport } from "../../graph/shared";
import type { Moment } from "../../graph/types";
import { type Grip, parseGrip, pick } from "../../graph/grips";
import { addressOf, grow, type View } from "../../graph/view";
import { parts } from "../../graph/words";
import { WAITING } from "../../strings/waiting";
import { RecentDatasets } from "../fallback/EmptyView";
import { Canvas, type Anchor, type Outside } from "./Canvas";
import { useActionsOf } from "./useActionsOf";
import { useScene, type Scene } from "./useScene";
import { LINEAGE } from "../../strings/lineage";
import styles from "./lineage.module.css";
import controls from "../../components/controls.module.css";
import messages from "../../components/message.module.css";

const Others = lazy(() => import("./Others"));

interface Props {
  scene: Scene;
  view: View;
  change: Change;
  /** Nodes to bring into the window. */
  ends?: readonly string[] | null;
  shared?: SharedViewport | null;
  onOutside?: (outside: Outside | null) => void;
}

/** Return the node whose details are open, directly or by a column or run, or else the node whose path is highlighted. */
function focusedNode({ node, open, lit }: View): string | null {
  if (open?.startsWith("column:")) return columnOf(open)[0];
  if (open?.startsWith("run:")) return lit ?? node;
  return open ?? lit;
}

function titleOf(node: string): string {
  return parts(node.slice(node.lastIndexOf(":") + 1), node.startsWith("job:") ? "job" : "dataset").title;
}

/** The graph of a view, or its error. */
export function Pane({ scene: { drawn, trouble, awaySince }, view, change, ends = null, shared = null, onOutside }: Props): ReactNode {
  const [anchor, setAnchor] = useState<Anchor | null>(null);
  const [choosing, setChoosing] = useState<{ of: Grip; in: string } | null>(null);
  const place = [view.node, view.level, view.at, view.datasetsOnly].join(" ");
  const choose = useCallback((of: Grip) => setChoosing({ of, in: place }), [place]);
  const actions = useActionsOf(view, change, setAnchor, choose);
  const ids = useMemo(() => new Set(drawn.nodes.map(({ id }) => id)), [drawn.nodes]);
  const leave = () => {
    setChoosing(null);
    if (choosing) document.querySelector<HTMLElement>(`[data-node="${CSS.escape(parseGrip(choosing.of)[1])}"]`)?.focus();
  };
  const showAll = () => {
    leave();
    if (choosing) change(grow(view, ...parseGrip(choosing.of)));
  };
  if (trouble) {
    const current = (view.at ?? view.from) && (
      <button type="button" className={controls.button} onClick={() => change({ at: null, from: null })}>
        {LINEAGE.current}
      </button>
    );
    return (
      <div className={styles.trouble}>
        {isUnknown(trouble) && view.from ? (
          <div className={messages.waiting} role="status">
            <p>{LINEAGE.absent(titleOf(view.node))}</p>
            {current}
          </div>
        ) : (
          <ErrorMessage error={trouble}>{current}</ErrorMessage>
        )}
        {isUnknown(trouble) && !view.at && !view.from && <RecentDatasets linkTo={addressOf} />}
      </div>
    );
  }
  return (
    <div className={waiting.pane}>
      {awaySince !== null && (
        <p className={clsx(messages.note, waiting.away)} role="alert">
          <span>
            {WAITING.away}
            <Ago at={new Date(awaySince).toISOString()} />
            {WAITING.retries}
          </span>
        </p>
      )}
      {drawn.pending !== null && <Arranging count={drawn.pending} isOverOther={drawn.nodes.length > 0 && drawn.isOther} />}
      {drawn.nodes.length === 0 && (
        <div className={waiting.overlay}>
          <Skeleton of="graph" />
        </div>
      )}
      <ShownTime value={view.at}>
        <Canvas
          label={LINEAGE.canvas(view.beside ? nameOf(momentOf(view)) : null)}
          nodes={drawn.nodes}
          edges={drawn.edges}
          frames={drawn.frames}
          extent={drawn.extent}
          shared={shared}
          actions={actions}
          anchor={anchor}
          path={drawn.path}
          ends={ends}
          focused={focusedNode(view)}
          about={drawn.about}
          onOutside={onOutside}
          onPaneClick={() => (view.lit || view.column) && change({ lit: null, column: null })}
        />
      </ShownTime>
      {choosing?.in === place && (
        <Suspense>
          <Others of={choosing.of} view={view} shown={ids} close={leave} pick={(nodes) => change({ picks: pick(view.picks, choosing.of, nodes) })} showAll={showAll} />
        </Suspense>
      )}
    </div>
  );
}

/** The same graph at another time; both share highlighting and expanded nodes. */
export function Beside({ moment, view, change, shared }: { moment: Moment; view: View; change: Change; shared: SharedViewport }): ReactNode {
  const ownView = { ...view, ...timesOf(moment) };
  const scene = useScene(ownView, pairOf(view));
  // This pane keeps its time; other changes apply to both graphs.
  const changeBoth: Change = (changes, isSmall) => change("node" in changes ? { ...changes, at: view.at, from: view.from } : "at" in changes ? { beside: null } : changes, isSmall);
  return (
    <section className={styles.pane} aria-label={LINEAGE.beside(nameOf(moment))}>
      <h2 className={styles.paneHead}>
        <span className="clip">{nameOf(moment)}</span>
        <button type="button" className={clsx(controls.button, controls.bare, controls.square)} onClick={() => change({ beside: null })} aria-label={LINEAGE.closeBesideOf(nameOf(moment))} title={LINEAGE.closeBeside}>
          <Icon name="close" />
        </button>
      </h2>
      <Pane scene={scene} view={ownView} change={changeBoth} shared={shared} />
    </section>
  );
}
