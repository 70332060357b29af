import { clsx } from "clsx";
import { useState, type KeyboardEvent, type MouseEvent, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Icon } from "../../components/Icon";
import { useNow } from "../../components/now";
import { barsOf, beginOf, endsOf, HOUR, lineOf, marksOn, onAxis, placeOf, rangeOf, RANGES, ticksOf, timeAt, type Bar, type Choice, type Line, type Mark, type Tone } from "../../graph/timeline";
import { AUTO, DEEPEST, selectTime, type View } from "../../graph/view";
import { moment, parts, plural } from "../../graph/words";
import { TIME } from "../../strings/time";
import { TIMELINE } from "../../strings/timeline";
import styles from "./timeline.module.css";
import controls from "../../components/controls.module.css";

const PARTS = 48;
const SIGNS: Record<Tone, string> = { came: "+", gone: "−", changed: "~", failed: "!", new: "•" };
const CHOICES: readonly Choice[] = ["day", "week", "month", "all"];

interface Props {
  view: View;
  change: (change: Partial<View>) => void;
  /** Change the view and bring nodes into the window. */
  show: (change: Partial<View>, ends: readonly string[]) => void;
}

/** The runs and changes of the shown graph on a time axis. */
export function Timeline({ view, change, show }: Props): ReactNode {
  const [hint, setHint] = useState("");
  const { node, level } = view;
  // Without jobs, a step between datasets counts as two.
  const [up, down] = [view.up, view.down].map((count) => Math.min(DEEPEST, view.datasetsOnly ? 2 * count : count));
  const isUnsettled = view.up === AUTO || view.down === AUTO;
  const now = useNow(HOUR);
  const { data, error } = useAnswer("timeline", view.range === null || isUnsettled ? null : { node, up, down, level, parts: PARTS, from: beginOf(view.range, now) });
  const range = data && view.range === "auto" ? rangeOf(data, now) : view.range;
  const axis = data && range !== null ? onAxis(data, range, now) : null;
  const runs = data?.runs.reduce((sum, run) => sum + run.completed + run.failed + run.lost + run.running, 0) ?? 0;
  const about = data && !isUnsettled && TIMELINE.summary(runs, data.changes.length, data.isMore, steps(view));
  const text = hint || (error ? TIMELINE.unavailable(error.message) : about || "");
  return (
    <section className={styles.timeline} id="timeline" aria-label={TIMELINE.label}>
      <div className={styles.head}>
        <button type="button" className={clsx(controls.button, controls.bare)} aria-expanded={range !== null} onClick={() => change({ range: range === null ? "auto" : null })}>
          <Icon name={range === null ? "up" : "down"} /> {TIMELINE.label}
        </button>
        {range !== null && (
          <>
            <p className={clsx(styles.said, "muted", "clip")} title={text}>
              {text}
            </p>
            <div className={controls.segments} role="group" aria-label={TIMELINE.range}>
              {CHOICES.map((choice) => (
                <button key={choice} type="button" aria-pressed={range === choice} onClick={() => change({ range: choice })}>
                  {RANGES[choice].text}
                </button>
              ))}
            </div>
          </>
        )}
      </div>
      {axis && <Track line={lineOf(axis)} bars={barsOf(axis)} marks={marksOn(axis)} view={view} change={change} show={show} setHint={setHint} />}
      {range !== null && !axis && <div className={styles.track} />}
    </section>
  );
}

function steps({ node, up, down }: View): string {
  const { title } = parts(node.slice(node.lastIndexOf(":") + 1), node.startsWith("job:") ? "job" : "dataset");
  return TIMELINE.steps(up === DEEPEST ? TIMELINE.allSteps : plural(up, "step"), down === DEEPEST ? TIMELINE.all : String(down), title);
}

interface TrackProps extends Props {
  line: Line;
  bars: Bar[];
  marks: Mark[];
  setHint: (text: string) => void;
}

function Track({ line, bars, marks, view, change, show, setHint }: TrackProps): ReactNode {
  const pick = (at: string, isSecond: boolean) => {
    const isNow = Date.parse(at) >= line.to - 1_000;
    change(selectTime(view, isNow ? null : at, isSecond));
  };
  const onTrack = (event: MouseEvent<HTMLDivElement>) => {
    if (event.target instanceof HTMLElement && event.target.closest("button")) return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    pick(timeAt(line, (100 * (event.clientX - left)) / width), event.shiftKey);
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions -- its buttons provide the same actions
    <div className={styles.track} onClick={onTrack} onKeyDown={moveFocus} onMouseLeave={() => setHint("")}>
      <div className={styles.marks} role="group" aria-label={TIMELINE.changes}>
        {marks.map((mark, index) => (
          <button
            key={mark.at}
            type="button"
            className={clsx(styles.mark, styles[mark.tone], mark.isAtEnd && styles.atEnd)}
            style={{ left: `${mark.place}%` }}
            tabIndex={index === marks.length - 1 ? 0 : -1}
            aria-label={TIMELINE.mark(mark.label, mark.text)}
            title={TIMELINE.markTitle(mark.text)}
            onMouseEnter={() => setHint(mark.text)}
            onFocus={() => setHint(mark.text)}
            onClick={() => show({ from: mark.before, at: mark.at }, endsOf(mark))}
          >
            <i aria-hidden="true">{SIGNS[mark.tone]}</i>
            {mark.label && (
              <span className={clsx(styles.label, "clip")} aria-hidden="true" style={{ maxWidth: `calc(${mark.room}cqw - 44px)` }}>
                {mark.label}
              </span>
            )}
          </button>
        ))}
      </div>
      <div className={styles.bars} role="group" aria-label={TIMELINE.runs}>
        {bars.map((bar, index) => (
          <button
            key={bar.from}
            type="button"
            className={styles.bar}
            style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
            tabIndex={index === bars.length - 1 ? 0 : -1}
            aria-label={TIMELINE.bar(bar.text)}
            title={TIMELINE.barTitle(bar.text)}
            onMouseEnter={() => setHint(bar.text)}
            onFocus={() => setHint(bar.text)}
            onClick={(event) => pick(bar.at, event.shiftKey)}
          >
            <span style={{ height: `${bar.height}%` }}>
              {bar.groups.map(({ name, share }) => (
                <i key={name} className={styles[name]} style={{ height: `${share}%` }} />
              ))}
            </span>
          </button>
        ))}
        {view.from && <Cursor line={line} at={view.from} text={TIME.from} />}
        <Cursor line={line} at={view.at} text={view.from ? TIME.to : TIME.asOf} />
      </div>
      <div className={clsx(styles.ticks, "muted")} aria-hidden="true">
        {ticksOf(line).map((tick) => (
          <span key={tick.place} style={{ left: `${tick.place}%` }}>
            {tick.text}
          </span>
        ))}
      </div>
    </div>
  );
}

/** A marker at the selected time; hidden if the time is invalid or before the range. */
function Cursor({ line, at, text }: { line: Line; at: string | null; text: string }): ReactNode {
  if (at !== null && !(Date.parse(at) >= line.from)) return null;
  return <span className={styles.cursor} style={{ left: `${at === null ? 100 : placeOf(line, at)}%` }} title={at === null ? TIMELINE.now : TIMELINE.cursor(text, moment(at))} />;
}

/** Move the focus between bars, or between markers, with the arrow keys. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const button = event.target instanceof HTMLElement ? event.target.closest("button") : null;
  const buttons = [...(button?.parentElement?.querySelectorAll("button") ?? [])];
  const at = button ? buttons.indexOf(button) : -1;
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (next === undefined || at < 0) return;
  event.preventDefault();
  buttons[next]?.focus();
}
