import { useInteractions, useRole } from "@floating-ui/react";
import { clsx } from "clsx";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { present } from "../../components/now";
import { usePopup } from "../../components/usePopup";
import { dayBeside, dayName, dayOf, momentAt, monthName, moved, presetsOf, timeOf, weeksOf, type Day } from "../../graph/calendar";
import { nameOf } from "../../graph/moments";
import { TIME } from "../../strings/time";
import styles from "./picker.module.css";
import { useLastSuccess } from "./useLastSuccess";
import controls from "../../components/controls.module.css";

interface Props {
  label: string;
  /** The selected moment; null: now. */
  at: string | null;
  /** The job or dataset whose last successful run is a preset. */
  node: string;
  choose: (at: string) => void;
}

/** A button with the selected moment that opens presets and a calendar in UTC. */
export function MomentPicker({ label, at, node, choose }: Props): ReactNode {
  const { isOpen, close, setControl, setSheet, context, interactions, onBlur } = usePopup();
  const { getReferenceProps, getFloatingProps } = useInteractions([...interactions, useRole(context, { role: "dialog" })]);
  return (
    <span className={styles.picker} data-moment={at ?? undefined} onBlur={onBlur}>
      <button type="button" ref={setControl} className={clsx(controls.button, styles.open)} title={TIME.nowTitle} {...getReferenceProps()}>
        <Icon name="clock" />
        {at === null ? (
          TIME.now
        ) : (
          <span>
            <span className="muted">{label}</span> {nameOf(at)}
          </span>
        )}
      </button>
      {isOpen && (
        <div className={styles.sheet} ref={setSheet} {...getFloatingProps({ "aria-label": TIME.select(label) })}>
          <PickerDialog
            at={at}
            node={node}
            choose={(picked) => {
              close();
              choose(picked);
            }}
          />
        </div>
      )}
    </span>
  );
}

/** Presets, and a calendar with a time. */
function PickerDialog({ at, node, choose }: Omit<Props, "label">): ReactNode {
  const [now] = useState(present);
  const start = at !== null && !Number.isNaN(Date.parse(at)) ? Date.parse(at) : now;
  const [day, setDay] = useState(dayOf(start));
  const [time, setTime] = useState(at === null ? timeOf(new Date(Math.floor(start / 60_000) * 60_000).toISOString()) : timeOf(new Date(start).toISOString()));
  const picked = momentAt(day, time);
  const presets = useRef<HTMLUListElement>(null);
  useEffect(() => presets.current?.querySelector("button")?.focus(), []);
  const success = useLastSuccess(node);
  return (
    <>
      <ul className={styles.presets} aria-label={TIME.presets} ref={presets}>
        {presetsOf(now, success).map((preset) => (
          <li key={preset.id}>
            <button type="button" onClick={() => choose(preset.at)}>
              {TIME.preset[preset.id]} <span className="muted">{nameOf(preset.at)}</span>
            </button>
          </li>
        ))}
      </ul>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (picked) choose(picked);
        }}
      >
        <Calendar day={day} today={dayOf(now)} choose={setDay} />
        <label className={styles.time}>
          <span className="muted">{TIME.time}</span>
          <input className={controls.field} value={time} aria-invalid={picked === null} onChange={(event) => setTime(event.target.value)} />
          <button type="submit" className={controls.button} disabled={picked === null}>
            {TIME.apply}
          </button>
        </label>
        {picked === null && (
          <p className={styles.invalid} role="alert">
            {TIME.invalidTime}
          </p>
        )}
      </form>
    </>
  );
}

/** The days of a month, with arrow keys to move between them. */
function Calendar({ day, today, choose }: { day: Day; today: Day; choose: (day: Day) => void }): ReactNode {
  const [month, setMonth] = useState(day.slice(0, 7));
  const table = useRef<HTMLTableElement>(null);
  const isByKey = useRef(false);
  useEffect(() => {
    if (isByKey.current) table.current?.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
    isByKey.current = false;
  }, [day]);
  const onKey = (event: KeyboardEvent) => {
    const next = dayBeside(day, event.key, today);
    if (next === null) return;
    event.preventDefault();
    isByKey.current = true;
    setMonth(next.slice(0, 7));
    choose(next);
  };
  const step = (by: number) => setMonth(moved(month, by));
  // Only one day is in the tab order.
  const tabStop = day.startsWith(month) ? day : (weeksOf(month).flat().find((date) => date !== null) ?? day);
  return (
    <>
      <div className={styles.month}>
        <button type="button" className={clsx(controls.button, controls.bare, controls.square)} aria-label={TIME.previousMonth} title={TIME.previousMonth} onClick={() => step(-1)}>
          <Icon name="left" />
        </button>
        <strong aria-live="polite">{monthName(month)}</strong>
        <button type="button" className={clsx(controls.button, controls.bare, controls.square, styles.next)} aria-label={TIME.nextMonth} title={TIME.nextMonth} disabled={month >= today.slice(0, 7)} onClick={() => step(1)}>
          <Icon name="left" />
        </button>
      </div>
      <table className={styles.days} ref={table}>
        <thead>
          <tr>
            {TIME.weekdays.map(([short, long]) => (
              <th key={short} scope="col" className="muted" title={long}>
                {short}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksOf(month).map((week, nth) => (
            <tr key={nth}>
              {week.map((date, weekday) => (
                <td key={weekday}>
                  {date !== null && (
                    <button type="button" tabIndex={date === tabStop ? 0 : -1} aria-pressed={date === day} aria-label={dayName(date)} disabled={date > today} className={date === today ? styles.today : ""} onClick={() => choose(date)} onKeyDown={onKey}>
                      {Number(date.slice(8))}
                    </button>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
