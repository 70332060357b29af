import "@xyflow/react/dist/base.css";
import { clsx } from "clsx";
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { ONE_FILE } from "../../api/base";
import { ShownTime } from "../../components/now";
import { useView } from "../../navigation/address";
import { changesOf } from "../../graph/difference";
import { momentOf, keepMomentsOpen, nameOf, pairOf } from "../../graph/moments";
import { sharedViewport } from "../../graph/shared";
import type { View } from "../../graph/view";
import { Details } from "../details/Details";
import { Timeline } from "../timeline/Timeline";
import type { Outside } from "./Canvas";
import { Changes } from "./Changes";
import { MomentTabs } from "./MomentTabs";
import { Notes } from "./Notes";
import { Beside, Pane } from "./Pane";
import { Toolbar } from "./Toolbar";
import { useDepths } from "./useDepths";
import { useScene } from "./useScene";
import { LINEAGE } from "../../strings/lineage";
import styles from "./lineage.module.css";
import messages from "../../components/message.module.css";

/** The graph around a node, its details beside it, and the differences between two moments. */
export default function LineagePage(): ReactNode {
  const [addressView, go] = useView();
  const view = useDepths(addressView);
  const [ends, setEnds] = useState<readonly string[] | null>(null);
  const show = useCallback(
    (changes: Partial<View>, nodes: readonly string[] | null, isSmall?: boolean) => {
      setEnds(nodes);
      go(keepMomentsOpen(addressView, changes), isSmall);
    },
    [addressView, go],
  );
  const change = useCallback((changes: Partial<View>, isSmall?: boolean) => show(changes, null, isSmall), [show]);
  const pair = useMemo(() => pairOf(view), [view]);
  const [shared] = useState(sharedViewport);
  const scene = useScene(view, pair);
  const [outside, setOutside] = useState<Outside | null>(null);
  const { graph, shown, diff, trouble } = scene;
  useEffect(() => {
    document.title = LINEAGE.tab(view.node.slice(view.node.lastIndexOf(":") + 1));
  }, [view.node]);
  const panes = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (ends) panes.current?.scrollIntoView({ block: "nearest" });
  }, [ends]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select");
      if (event.key === "Escape" && !isTyping) change(view.open ? { open: null, tab: null } : { lit: null, column: null });
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [view.open, change]);
  return (
    <main className={styles.lineage}>
      <h1 className="hidden">{LINEAGE.heading(view.node)}</h1>
      <div className={styles.body}>
        {diff && <Changes diff={diff} view={view} show={show} />}
        <div className={styles.stage}>
          <Toolbar view={view} change={change} scene={scene} />
          <MomentTabs view={view} change={change} />
          <div className={styles.panes} ref={panes}>
            <section className={styles.pane} aria-label={nameOf(momentOf(view))}>
              {view.beside && <h2 className={clsx(styles.paneHead, "clip")}>{nameOf(momentOf(view))}</h2>}
              {view.node || !view.from || trouble ? <Pane scene={scene} view={view} change={change} ends={ends} shared={view.beside ? shared : null} onOutside={setOutside} /> : <p className={messages.waiting}>{diff ? (changesOf(diff).length > 0 ? LINEAGE.selectChange : LINEAGE.noDifferences) : LINEAGE.comparing}</p>}
            </section>
            {view.beside && <Beside moment={view.beside} view={view} change={change} shared={shared} />}
          </div>
          {!ONE_FILE && view.node && (!trouble || view.at) && <Timeline view={view} change={change} show={show} />}
          {shown && graph && !trouble && <Notes view={view} change={change} graph={graph} shown={shown} left={scene.drawn.left} isAlone={scene.drawn.path?.size === 1} outside={outside} />}
        </div>
      </div>
      <ShownTime value={view.at}>{view.open && <Details key={view.open} view={view} change={change} />}</ShownTime>
    </main>
  );
}
