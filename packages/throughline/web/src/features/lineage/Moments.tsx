import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { present } from "../../components/now";
import { isoTime } from "../../graph/timeline";
import type { View } from "../../graph/view";
import { MomentPicker } from "./MomentPicker";

const DAY = 86_400_000;

/** Return the time a week before a time; invalid times count as now. */
function weekBefore(at: string | null): string {
  return isoTime(((at !== null && Date.parse(at)) || present()) - 7 * DAY);
}

/** Controls to select a time, or two times to compare. */
export function Moments({ view, change }: { view: View; change: (change: Partial<View>) => void }): ReactNode {
  return (
    <span className="group push" role="group" aria-label="Time, in UTC">
      {view.from !== null && <MomentPicker label="From" at={view.from} node={view.node} choose={(from) => change({ from })} />}
      <MomentPicker label={view.from === null ? "As of" : "To"} at={view.at} node={view.node} choose={(at) => change({ at })} />
      {view.at !== null && (
        <button type="button" className="button" onClick={() => change({ at: null })}>
          Now
        </button>
      )}
      <button type="button" className="button" aria-pressed={view.from !== null} onClick={() => change({ from: view.from === null ? weekBefore(view.at) : null })} title="Compare two times; default: with a week before">
        <Icon name="compare" /> Compare
      </button>
    </span>
  );
}
