import { clsx } from "clsx";
import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { present } from "../../components/now";
import { isoTime } from "../../graph/timeline";
import type { View } from "../../graph/view";
import { MomentPicker } from "./MomentPicker";
import { TIME } from "../../strings/time";
import controls from "../../components/controls.module.css";
import toolbar from "./toolbar.module.css";

const DAY = 86_400_000;

/** Return the time a week ago. */
function weekBefore(): string {
  return isoTime(present() - 7 * DAY);
}

/** Controls to select a time, or two times to compare. */
export function Moments({ view, change }: { view: View; change: (change: Partial<View>) => void }): ReactNode {
  return (
    <span className={clsx(toolbar.group, toolbar.push)} role="group" aria-label={TIME.group}>
      {view.from !== null && <MomentPicker label={TIME.from} at={view.from} node={view.node} choose={(from) => change({ from })} />}
      <MomentPicker label={view.from === null ? TIME.asOf : TIME.to} at={view.at} node={view.node} choose={(at) => change({ at })} />
      {view.at !== null && (
        <button type="button" className={controls.button} onClick={() => change({ at: null })}>
          {TIME.now}
        </button>
      )}
      <button type="button" className={controls.button} aria-pressed={view.from !== null} onClick={() => change(view.from !== null ? { from: null } : view.at !== null ? { from: view.at, at: null } : { from: weekBefore() })} title={TIME.compareAbout}>
        <Icon name="compare" /> {TIME.compare}
      </button>
    </span>
  );
}
