import "./timeline.css";
import { useState, type KeyboardEvent, type MouseEvent, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Icon } from "../../components/Icon";
import { useNow } from "../../components/now";
import { barsOf, beginOf, endsOf, HOUR, lineOf, marksOn, onAxis, placeOf, RANGES, ticksOf, timeAt, type Bar, type Line, type Mark, type Range, type Tone } from "../../graph/timeline";
import { AUTO, DEEPEST, picked, type View } from "../../graph/view";
import { moment, parts, plural } from "../../graph/words";

const PARTS = 48;
const SIGNS: Record<Tone, string> = { came: "+", gone: "−", changed: "~", failed: "!", new: "•" };
const ALL: readonly Range[] = ["day", "week", "month", "all"];

interface Props {
  view: View;
  change: (change: Partial<View>) => void;
  /** Change the view and bring some nodes into the window. */
  show: (change: Partial<View>, ends: readonly string[]) => void;
}

/** The runs and changes of the shown graph on a time axis. */
export function Timeline({ view, change, show }: Props): ReactNode {
  const [said, say] = useState("");
  const { node, level, range } = view;
  // Between two datasets there is a job.
  const [up, down] = [view.up, view.down].map((count) => Math.min(DEEPEST, view.datasetsOnly ? 2 * count : count));
  const now = useNow(HOUR);
  const { data, error } = useAnswer("timeline", range === null || view.up === AUTO || view.down === AUTO ? null : { node, up, down, level, parts: PARTS, from: beginOf(range, now) });
  const axis = data && range !== null ? onAxis(data, range, now) : null;
  const runs = data?.runs.reduce((sum, run) => sum + run.completed + run.failed + run.lost + run.running, 0) ?? 0;
  const about = data && `${plural(runs, "run")}, ${plural(data.changes.length, "change")}${data.isMore ? " and more" : ""}, ${steps(view)}`;
  const text = said || (error ? `The timeline is unavailable: ${error.message}` : about);
  return (
    <section className="timeline" aria-label="Timeline">
      <div className="timeline-head">
        <button type="button" className="button bare" aria-expanded={range !== null} onClick={() => change({ range: range === null ? "month" : null })}>
          <Icon name={range === null ? "up" : "down"} /> Timeline
        </button>
        {range !== null && (
          <>
            <p className="timeline-said muted clip" title={text}>
              {text}
            </p>
            <div className="segments" role="group" aria-label="Time range">
              {ALL.map((choice) => (
                <button key={choice} type="button" aria-pressed={range === choice} onClick={() => change({ range: choice })}>
                  {RANGES[choice].text}
                </button>
              ))}
            </div>
          </>
        )}
      </div>
      {range !== null && axis && <Track line={lineOf(axis)} bars={barsOf(axis)} marks={marksOn(axis)} view={view} change={change} show={show} say={say} />}
    </section>
  );
}

function steps({ node, up, down }: View): string {
  const { title } = parts(node.slice(node.lastIndexOf(":") + 1), node.startsWith("job:") ? "job" : "dataset");
  return `within ${up === DEEPEST ? "all steps" : plural(up, "step")} up and ${down === DEEPEST ? "all" : down} down of ${title}. Click a bar to view the graph at that time, or a marker to see the change`;
}

interface TrackProps extends Props {
  line: Line;
  bars: Bar[];
  marks: Mark[];
  say: (text: string) => void;
}

function Track({ line, bars, marks, view, change, show, say }: TrackProps): ReactNode {
  const pick = (at: string, isSecond: boolean) => {
    const isNow = Date.parse(at) >= line.to - 1_000;
    change(picked(view, isNow ? null : at, isSecond));
  };
  const onTrack = (event: MouseEvent<HTMLDivElement>) => {
    if (event.target instanceof HTMLElement && event.target.closest("button")) return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    pick(timeAt(line, (100 * (event.clientX - left)) / width), event.shiftKey);
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions -- its buttons have the same actions
    <div className="timeline-track" onClick={onTrack} onKeyDown={walk} onMouseLeave={() => say("")}>
      <div className="timeline-marks" role="group" aria-label="Changes">
        {marks.map((mark, nth) => (
          <button
            key={mark.at}
            type="button"
            className={`timeline-mark ${mark.tone}${mark.isAtEnd ? " at-end" : ""}`}
            style={{ left: `${mark.place}%` }}
            tabIndex={nth === marks.length - 1 ? 0 : -1}
            aria-label={`${mark.label ? `${mark.label}. ` : ""}${mark.text}. Compare before and after`}
            title={`${mark.text}\nClick to compare before and after`}
            onMouseEnter={() => say(mark.text)}
            onFocus={() => say(mark.text)}
            onClick={() => show({ from: mark.before, at: mark.at }, endsOf(mark))}
          >
            <i aria-hidden="true">{SIGNS[mark.tone]}</i>
            {mark.label && (
              <span className="timeline-label clip" aria-hidden="true" style={{ maxWidth: `calc(${mark.room}cqw - 44px)` }}>
                {mark.label}
              </span>
            )}
          </button>
        ))}
      </div>
      <div className="timeline-bars" role="group" aria-label="Runs">
        {bars.map((bar, nth) => (
          <button
            key={bar.from}
            type="button"
            className="timeline-bar"
            style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
            tabIndex={nth === bars.length - 1 ? 0 : -1}
            aria-label={`${bar.text}. View the graph at that time`}
            title={`${bar.text}\nClick to view the graph at that time; Shift-click to compare`}
            onMouseEnter={() => say(bar.text)}
            onFocus={() => say(bar.text)}
            onClick={(event) => pick(bar.at, event.shiftKey)}
          >
            <span style={{ height: `${bar.height}%` }}>
              {bar.groups.map(({ name, share }) => (
                <i key={name} className={name} style={{ height: `${share}%` }} />
              ))}
            </span>
          </button>
        ))}
        {view.from && <Cursor line={line} at={view.from} text="From" />}
        <Cursor line={line} at={view.at} text={view.from ? "To" : "As of"} />
      </div>
      <div className="timeline-ticks muted" aria-hidden="true">
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
  return <span className="timeline-cursor" style={{ left: `${at === null ? 100 : placeOf(line, at)}%` }} title={at === null ? "Now" : `${text} ${moment(at)}`} />;
}

/** The arrow keys go from one bar or mark to the next of its kind. */
function walk(event: KeyboardEvent<HTMLDivElement>): void {
  const own = event.target instanceof HTMLElement ? event.target.closest("button") : null;
  const all = [...(own?.parentElement?.querySelectorAll("button") ?? [])];
  const at = own ? all.indexOf(own) : -1;
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (next === undefined || at < 0) return;
  event.preventDefault();
  all[next]?.focus();
}
