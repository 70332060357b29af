import { clsx } from "clsx";
import { Fragment, useMemo, useState, type CSSProperties, type KeyboardEvent, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Link } from "../../components/Link";
import { useNow } from "../../components/now";
import { RunState } from "../../components/RunState";
import { Skeleton } from "../../components/Skeleton";
import { ganttOf, type GanttOrder } from "../../graph/gantt";
import { formatView, type View } from "../../graph/view";
import { duration, parts, plural } from "../../graph/words";
import { DETAILS } from "../../strings/details";
import styles from "./gantt.module.css";
import { Resize, useWidth } from "./Resize";
import controls from "../../components/controls.module.css";

const ORDERS: readonly GanttOrder[] = ["worst", "start"];
const FIRST = 200;
const NAMES = { initial: 200, least: 90, most: 560 };
/** Bars that start after this percentage have their duration aligned to their right end. */
const HALF = 60;

/** A run and its child runs, as a tree with bars on a time axis. */
export function RunGantt({ runId, view }: { runId: string; view: View }): ReactNode {
  const [names, setNames] = useWidth("gantt-names", NAMES);
  const [isAll, setAll] = useState(false);
  const { data } = useAnswer("runtree", { run: runId });
  const [order, setOrder] = useState<GanttOrder>("worst");
  const now = useNow();
  const gantt = useMemo(() => (data ? ganttOf(data, now, order) : null), [data, now, order]);
  if (!gantt) return <Skeleton />;
  if (gantt.rows.length === 1) return <p className="muted">{DETAILS.noChildren}</p>;
  const shown = isAll ? gantt.rows : gantt.rows.slice(0, FIRST);
  const critical = gantt.rows.filter((row) => row.isCritical);
  return (
    <>
    <div className={clsx(controls.segments, styles["orders"])} role="group" aria-label={DETAILS.order}>
      {ORDERS.map((choice) => (
        <button key={choice} type="button" aria-pressed={order === choice} onClick={() => setOrder(choice)}>
          {DETAILS.orders[choice]}
        </button>
      ))}
    </div>
    <p className={clsx("muted", styles["legend"])}>
      <i aria-hidden="true" /> {DETAILS.critical(critical.length)}
    </p>
    <div className={styles["gantt"]} style={{ "--names": `${names}px` } as CSSProperties}>
      <Resize label={DETAILS.resizeNames} width={names} change={setNames} {...NAMES} />
      <p className={clsx("muted", styles.axis)} aria-hidden="true">
        <span>0</span>
        <span>{duration(gantt.length / 2)}</span>
        <span>{duration(gantt.length)}</span>
      </p>
      <ul>
        {shown.map(({ run, depth, left, width, text, took, isCritical }, nth) => (
          <li key={`${run.runId} ${run.job.name} ${nth}`}>
            <Link className={styles["row"]} data-critical={isCritical || undefined} onKeyDown={moveFocus} href={formatView({ ...view, open: `run:${run.runId}`, tab: null })} title={`${run.job.name}: ${text}`}>
              <span className={styles["name"]} style={{ paddingLeft: Math.min(depth, 8) * 12 }}>
                <RunState state={run.state} className={styles.state} />
                <span>
                  {parts(run.job.name, "job").title.split(/(?<=_)/).map((piece, place) => (
                    <Fragment key={place}>
                      {piece}
                      <wbr />
                    </Fragment>
                  ))}
                </span>
              </span>
              <span className={styles["line"]}>
                <span className={styles["took"]} style={left > HALF ? { right: `${100 - left - width}%` } : { left: `${left}%` }} aria-hidden="true">
                  {took}
                </span>
                <i className={styles[run.state.toLowerCase()]} style={{ left: `${left}%`, width: `${width}%` }} />
                <span className="hidden">{isCritical ? DETAILS.onPath(text) : text}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {shown.length < gantt.rows.length && (
        <p className="muted">
          {DETAILS.firstRuns(FIRST, plural(gantt.rows.length, "run"))}{" "}
          <button type="button" className={controls.link} onClick={() => setAll(true)}>
            {DETAILS.showAll}
          </button>
        </p>
      )}
    </div>
    </>
  );
}

/** Move the focus between runs with the arrow keys. */
function moveFocus(event: KeyboardEvent<HTMLAnchorElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...(event.currentTarget.closest("ul")?.querySelectorAll("a") ?? [])];
  const at = links.findIndex((link) => link === document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  links[at + step]?.focus();
}
