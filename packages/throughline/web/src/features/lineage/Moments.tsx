import { useState, type ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { present } from "../../components/now";
import type { View } from "../../graph/view";

const DAY = 86_400_000;
/** What the field of a moment takes: UTC, without its zone. */
const toField = (at: string) => at.slice(0, 16);
const toMoment = (field: string) => `${field}:00Z`;

/** A week before a time; invalid times count as now. */
function weekBefore(at: string | null): string {
  const end = (at !== null && Date.parse(at)) || present();
  return `${new Date(end - 7 * DAY).toISOString().slice(0, 19)}Z`;
}

/** The graph as of a moment, or what is different between two. */
export function Moments({ view, change }: { view: View; change: (change: Partial<View>) => void }): ReactNode {
  const [isPicking, setPicking] = useState(false);
  const isPast = view.at !== null;
  const look = (at: string | null) => {
    setPicking(false);
    change({ at });
  };
  return (
    <span className="group push" role="group" aria-label="Time, in UTC">
      {view.from !== null && <Moment key={view.from} label="From" at={view.from} choose={(from) => from && change({ from })} />}
      {isPast || isPicking ? (
        <Moment key={view.at} label={view.from === null ? "As of" : "To"} at={view.at ?? ""} choose={look} />
      ) : (
        <button type="button" className="button" onClick={() => setPicking(true)} title="Select a past time">
          <Icon name="clock" /> Now
        </button>
      )}
      {isPast && (
        <button type="button" className="button" onClick={() => look(null)}>
          Now
        </button>
      )}
      <button type="button" className="button" aria-pressed={view.from !== null} onClick={() => change({ from: view.from === null ? weekBefore(view.at) : null })} title="Compare two times; default: with a week before">
        <Icon name="compare" /> Compare
      </button>
    </span>
  );
}

/** A field for a moment in UTC; it counts once it is left or Enter is pressed. */
function Moment({ label, at, choose }: { label: string; at: string; choose: (at: string | null) => void }): ReactNode {
  const [field, setField] = useState(toField(at));
  const tell = () => field !== toField(at) && choose(field ? toMoment(field) : null);
  return (
    <label>
      <span className="muted">{label}</span>
      <input
        type="datetime-local"
        value={field}
        aria-label={`${label}, in UTC`}
        // eslint-disable-next-line jsx-a11y/no-autofocus -- it appears when it is asked for
        autoFocus={at === ""}
        onChange={(event) => setField(event.target.value)}
        onBlur={tell}
        onKeyDown={(event) => event.key === "Enter" && tell()}
      />
    </label>
  );
}
