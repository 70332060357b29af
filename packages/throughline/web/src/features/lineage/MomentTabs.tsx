import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { closeMoment, momentOf, nameOf, NOW, tabsOf, timesOf } from "../../graph/moments";
import type { View } from "../../graph/view";
import styles from "./moments.module.css";

/** The moments that are open: one is looked at, another can be shown beside it. */
export function MomentTabs({ view, change }: { view: View; change: (change: Partial<View>) => void }): ReactNode {
  const tabs = tabsOf(view);
  const shown = momentOf(view);
  if (tabs.length < 2) return null;
  return (
    <ul className={styles.moments} aria-label="Moments">
      {tabs.map((each) => {
        const name = nameOf(each);
        const isShown = each === shown;
        const isBeside = each === view.beside;
        return (
          <li key={each} className={isShown || isBeside ? styles.chosen : undefined}>
            <button type="button" className={styles.name} aria-current={isShown} onClick={() => change(timesOf(each))}>
              {name}
            </button>
            {!isShown && (
              <button type="button" className="button bare square" aria-pressed={isBeside} aria-label={`Show ${name} beside`} title="Show it beside the graph" onClick={() => change({ beside: isBeside ? null : each })}>
                <Icon name="beside" />
              </button>
            )}
            {each !== NOW && (
              <button type="button" className="button bare square" aria-label={`Close ${name}`} title="Close" onClick={() => change(closeMoment(view, each))}>
                <Icon name="close" />
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
