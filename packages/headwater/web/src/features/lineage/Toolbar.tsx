import { clsx } from "clsx";
import { useInteractions } from "@floating-ui/react";
import { useId, useState, type ReactNode } from "react";
import { Icon, type IconName } from "../../components/Icon";
import { usePopup } from "../../components/usePopup";
import type { Direction } from "../../graph/types";
import type { Level, Side } from "../../graph/types";
import { AUTO, DEEPEST, type View } from "../../graph/view";
import { farthest } from "../../graph/visible";
import { Moments } from "./Moments";
import { Share } from "./Share";
import type { Scene } from "./useScene";
import { ViewLinks } from "./ViewLinks";
import { COMPONENTS } from "../../strings/components";
import { TOOLBAR } from "../../strings/lineage";
import styles from "./toolbar.module.css";
import controls from "../../components/controls.module.css";

const LEVELS: readonly Level[] = ["pipeline", "task", "query"];
const MANY = 300;

interface Props {
  view: View;
  change: (change: Partial<View>) => void;
  scene: Scene;
}

/** Options of the graph; on narrow screens, a menu holds all except level and time. */
export function Toolbar({ view, change, scene }: Props): ReactNode {
  const { graph, shown, isFetching, isOutdated } = scene;
  const [isConfirming, setConfirming] = useState(false);
  const menu = useId();
  const { isOpen, setControl, setSheet, interactions, onBlur } = usePopup();
  const { getReferenceProps, getFloatingProps } = useInteractions(interactions);
  const all = graph ? graph.reach.up + graph.reach.down : 0;
  const isAll = view.up === DEEPEST && view.down === DEEPEST && !shown?.isCut;
  const showAll = () => {
    setConfirming(false);
    change(isAll ? { up: 1, down: 1, grown: [], folded: [], picks: [] } : { up: DEEPEST, down: DEEPEST, grown: [], folded: [], picks: [] });
  };
  return (
    <div className={styles.frame}>
      <div className={styles.toolbar} role="toolbar" aria-label={TOOLBAR.label} aria-busy={isFetching || isOutdated} onBlur={onBlur}>
        <div className={controls.segments} role="group" aria-label={COMPONENTS.level}>
          {LEVELS.map((level) => (
            <button key={level} type="button" aria-pressed={view.level === level} onClick={() => change({ level, grown: [], folded: [], picks: [] })}>
              {COMPONENTS.levels[level]}
            </button>
          ))}
        </div>
        <button type="button" className={clsx(controls.button, styles.more)} title={TOOLBAR.label} aria-expanded={isOpen} aria-controls={menu} ref={setControl} {...getReferenceProps()}>
          <Icon name="more" /> {TOOLBAR.options}
        </button>
        <div id={menu} className={clsx(styles.rest, isOpen && styles.open)} ref={setSheet} {...getFloatingProps()}>
          <Depth side="up" view={view} change={change} scene={scene} />
          <Depth side="down" view={view} change={change} scene={scene} />
          {isConfirming ? (
            <span className={styles.group} role="alert">
              {TOOLBAR.slow(all + 1)}
              <button type="button" className={controls.button} onClick={showAll}>
                {TOOLBAR.showAll}
              </button>
              <button type="button" className={clsx(controls.button, controls.bare)} onClick={() => setConfirming(false)}>
                {TOOLBAR.cancel}
              </button>
            </span>
          ) : (
            <button type="button" className={controls.button} aria-pressed={isAll} onClick={() => (all > MANY && !isAll ? setConfirming(true) : showAll())}>
              {TOOLBAR.everything}
              {all > 0 && <span className="muted">{(all + 1).toLocaleString("en")}</span>}
            </button>
          )}
          <button type="button" className={controls.button} aria-pressed={view.datasetsOnly} aria-label={TOOLBAR.datasetsOnly} title={TOOLBAR.datasetsOnlyAbout} onClick={() => change({ datasetsOnly: !view.datasetsOnly })}>
            <Icon name="table" /> <span className={clsx(controls.wide, styles.short)}>{TOOLBAR.short.datasetsOnly}</span><span className={styles.inMenu}>{TOOLBAR.datasetsOnly}</span>
          </button>
          <button type="button" className={controls.button} aria-pressed={!view.control} aria-label={TOOLBAR.control} onClick={() => change({ control: !view.control })} title={TOOLBAR.controlAbout}>
            <Icon name="pipeline" /> <span className={controls.wide}>{TOOLBAR.control}</span>
          </button>
          <button type="button" className={controls.button} aria-pressed={view.chains} aria-label={TOOLBAR.chains} onClick={() => change({ chains: !view.chains, expanded: [] })} title={TOOLBAR.chainsAbout}>
            <Icon name="chain" /> <span className={clsx(controls.wide, styles.short)}>{TOOLBAR.short.chains}</span><span className={styles.inMenu}>{TOOLBAR.chains}</span>
          </button>
          <Directions view={view} change={change} shown={scene.drawn.direction} />
          <ViewLinks view={view} />
          <Share scene={scene} view={view} />
        </div>
        <Moments view={view} change={change} />
      </div>
    </div>
  );
}

const DIRECTIONS: readonly (readonly [Direction, IconName])[] = [
  ["right", "across"],
  ["down", "downward"],
];

/** The direction of the data on the screen; a second click on a direction restores the automatic one. */
function Directions({ view, change, shown }: { view: View; change: Props["change"]; shown: Direction | null }): ReactNode {
  return (
    <div className={controls.segments} role="group" aria-label={TOOLBAR.direction}>
      {DIRECTIONS.map(([direction, icon]) => (
        <button key={direction} type="button" aria-pressed={shown === direction} aria-label={TOOLBAR.directions[direction]} title={view.direction === direction ? TOOLBAR.resetDirection(TOOLBAR.directions[direction]) : TOOLBAR.directions[direction]} onClick={() => change({ direction: view.direction === direction ? null : direction })}>
          <Icon name={icon} /> <span className={styles.inMenu}>{TOOLBAR.directions[direction]}</span>
        </button>
      ))}
    </div>
  );
}

function Depth({ side, view, change, scene: { graph } }: Props & { side: Side }): ReactNode {
  const depth = view[side];
  const set = (count: number) => change({ [side]: count });
  const less = () => set((depth === DEEPEST && graph ? Math.max(1, farthest(graph, side)) : depth) - 1);
  return (
    <span className={styles.depth} role="group" aria-label={TOOLBAR.steps[side]}>
      <span className="muted">{side === "up" ? TOOLBAR.upstream : TOOLBAR.downstream}</span>
      <button type="button" className={clsx(controls.button, controls.bare, controls.square)} disabled={depth <= 0} onClick={less} aria-label={TOOLBAR.fewer[side]} title={TOOLBAR.fewer[side]}>
        <Icon name="minus" />
      </button>
      <span className={styles.count}>{depth === DEEPEST ? TOOLBAR.allSteps : depth === AUTO ? TOOLBAR.automatic : depth}</span>
      <button type="button" className={clsx(controls.button, controls.bare, controls.square)} disabled={depth === DEEPEST || depth === AUTO} onClick={() => set(depth + 1)} aria-label={TOOLBAR.more[side]} title={TOOLBAR.more[side]}>
        <Icon name="plus" />
      </button>
    </span>
  );
}
