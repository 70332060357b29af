import { clsx } from "clsx";
import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { closeMoment, momentOf, nameOf, NOW, tabsOf, timesOf } from "../../graph/moments";
import type { View } from "../../graph/view";
import { TIME } from "../../strings/time";
import styles from "./moments.module.css";
import controls from "../../components/controls.module.css";

/** Tabs of the open times; a second time can be shown beside the current one. */
export function MomentTabs({ view, change }: { view: View; change: (change: Partial<View>) => void }): ReactNode {
  const tabs = tabsOf(view);
  const shown = momentOf(view);
  if (tabs.length < 2) return null;
  return (
    <ul className={styles.moments} aria-label={TIME.open}>
      {tabs.map((moment) => {
        const name = nameOf(moment);
        const isShown = moment === shown;
        const isBeside = moment === view.beside;
        return (
          <li key={moment} className={isShown || isBeside ? styles.chosen : undefined}>
            <button type="button" className={styles.name} aria-current={isShown} onClick={() => change(timesOf(moment))}>
              {name}
            </button>
            {!isShown && (
              <button type="button" className={clsx(controls.button, controls.bare, controls.square)} aria-pressed={isBeside} aria-label={TIME.besideOf(name)} title={TIME.beside} onClick={() => change({ beside: isBeside ? null : moment })}>
                <Icon name="beside" />
              </button>
            )}
            {moment !== NOW && (
              <button type="button" className={clsx(controls.button, controls.bare, controls.square)} aria-label={TIME.closeOf(name)} title={TIME.close} onClick={() => change(closeMoment(view, moment))}>
                <Icon name="close" />
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
