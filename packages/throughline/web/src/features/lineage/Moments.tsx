import { useState, type ReactNode } from "react";
import { Icon } from "../../components/Icon";
import type { View } from "../../graph/view";
import { moment } from "../../graph/words";

const DAY = 86_400_000;
/** What the field of a moment takes: UTC, without its zone. */
const toField = (at: string) => at.slice(0, 16);
const toMoment = (field: string) => `${field}:00Z`;

/** The graph as of a moment, or what is different between two. */
export function Moments({ view, change }: { view: View; change: (change: Partial<View>) => void }): ReactNode {
  const [at, setAt] = useState(toField(view.at ?? ""));
  const [from, setFrom] = useState(toField(view.from ?? ""));
  const compareWeek = () => change({ from: new Date(Date.now() - 7 * DAY).toISOString().slice(0, 19) + "Z" });
  return (
    <span className="group push" role="group" aria-label="Time">
      {view.from !== null && (
        <label>
          <span className="muted">From</span>
          <input
            type="datetime-local"
            value={from}
            aria-label="Compare from, in UTC"
            onChange={(event) => setFrom(event.target.value)}
            onBlur={() => from && toMoment(from) !== view.from && change({ from: toMoment(from) })}
            onKeyDown={(event) => event.key === "Enter" && from && change({ from: toMoment(from) })}
          />
        </label>
      )}
      <label>
        <span className="muted">{view.from === null ? "As of" : "to"}</span>
        <input
          type="datetime-local"
          value={at}
          aria-label="As of, in UTC; empty is the present"
          title={view.at ? moment(view.at) : "Empty: the present. Times are UTC"}
          onChange={(event) => setAt(event.target.value)}
          onBlur={() => (at ? toMoment(at) !== view.at && change({ at: toMoment(at) }) : view.at && change({ at: null }))}
          onKeyDown={(event) => event.key === "Enter" && change({ at: at ? toMoment(at) : null })}
        />
      </label>
      {view.at !== null && (
        <button type="button" className="button" onClick={() => change({ at: null })}>
          <Icon name="clock" /> Now
        </button>
      )}
      <button type="button" className="button" aria-pressed={view.from !== null} onClick={() => (view.from === null ? compareWeek() : change({ from: null }))} title="What is different between two moments; at first since a week ago">
        <Icon name="compare" /> Compare
      </button>
    </span>
  );
}
