import { useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Link } from "../../components/Link";
import { useNow } from "../../components/now";
import { RunState } from "../../components/RunState";
import { ganttOf } from "../../graph/gantt";
import { formatView, type View } from "../../graph/view";
import { duration, parts, plural } from "../../graph/words";

const FIRST = 200;

/** A run and all that it started, as a tree with bars on one axis of time. */
export function RunGantt({ runId, view }: { runId: string; view: View }): ReactNode {
  const [isAll, setAll] = useState(false);
  const { data } = useAnswer("runtree", { run: runId });
  const now = useNow();
  const gantt = useMemo(() => (data ? ganttOf(data, now) : null), [data, now]);
  if (!gantt) return <p className="waiting">Loading …</p>;
  if (gantt.rows.length === 1) return <p className="muted">No child runs reported.</p>;
  const shown = isAll ? gantt.rows : gantt.rows.slice(0, FIRST);
  return (
    <>
      <p className="gantt-axis muted" aria-hidden="true">
        <span>0</span>
        <span>{duration(gantt.length / 2)}</span>
        <span>{duration(gantt.length)}</span>
      </p>
      <ul className="gantt">
        {shown.map(({ run, depth, left, width, text }, nth) => (
          <li key={`${run.runId} ${run.job.name} ${nth}`}>
            <Link className="gantt-row" onKeyDown={walk} href={formatView({ ...view, open: `run:${run.runId}`, tab: null })} title={`${run.job.name}: ${text}`}>
              <span className="gantt-name" style={{ paddingLeft: Math.min(depth, 8) * 12 }}>
                <RunState state={run.state} />
                <span className="clip">{parts(run.job.name, "job").title}</span>
              </span>
              <span className="gantt-line">
                <i className={run.state.toLowerCase()} style={{ left: `${left}%`, width: `${width}%` }} />
                <span className="hidden">{text}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {shown.length < gantt.rows.length && (
        <p className="muted">
          The first {FIRST} of {plural(gantt.rows.length, "run")}.{" "}
          <button type="button" className="link" onClick={() => setAll(true)}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}

/** The arrow keys go from run to run. */
function walk(event: KeyboardEvent<HTMLAnchorElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const all = [...(event.currentTarget.closest("ul")?.querySelectorAll("a") ?? [])];
  const at = all.findIndex((each) => each === document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  all[at + step]?.focus();
}
