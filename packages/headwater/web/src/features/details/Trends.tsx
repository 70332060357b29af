import type { ReactNode } from "react";
import { Icon, type IconName } from "../../components/Icon";
import type { AssertionResult } from "../../graph/assertion";
import type { CheckMatrix, RowsTrend } from "../../graph/trends";
import type { Durations } from "../../graph/durations";
import { formatView, type View } from "../../graph/view";
import { duration, moment, plural, short } from "../../graph/words";
import { DETAILS } from "../../strings/details";
import { JOB } from "../../strings/job";
import { BarChart } from "./BarChart";
import styles from "./durations.module.css";

/** The durations of a job's runs with their median. */
export function DurationChart({ durations: { bars, median, medianHeight, outliers }, view }: { durations: Durations; view: View }): ReactNode {
  const shown = bars.map(({ runId, durationMs, startedAt, height, isFailed, isOutlier }) => {
    const note = isFailed ? JOB.notCompleted : isOutlier ? JOB.outlier : "";
    const tone = isFailed ? ("failed" as const) : isOutlier ? ("outlier" as const) : undefined;
    return { key: runId, href: formatView({ ...view, open: `run:${runId}`, tab: null }), title: JOB.bar(duration(durationMs), moment(startedAt), note), height, tone };
  });
  return (
    <BarChart label={JOB.durations} bars={shown} medianHeight={medianHeight}>
      {JOB.summary(duration(median), outliers.size, bars.length)}
    </BarChart>
  );
}

/** The rows of a dataset's versions with their median. */
export function RowsChart({ trend: { bars, median, medianHeight, change }, view }: { trend: RowsTrend; view: View }): ReactNode {
  const shown = bars.map(({ runId, at, rows, height }, place) => ({
    key: `${runId} ${place}`,
    href: formatView({ ...view, open: `run:${runId}`, tab: null }),
    title: `${plural(rows, "row")}, ${moment(at)}`,
    height,
  }));
  return (
    <BarChart label={DETAILS.rowsPerVersion} bars={shown} medianHeight={medianHeight}>
      {DETAILS.rowsTrend(short(bars.at(-1)?.rows ?? 0), short(median), change)}
    </BarChart>
  );
}

const ICONS: Record<AssertionResult, IconName> = { passed: "done", warned: "alert", failed: "fail", notRun: "lost" };

/** The results of assertions by check, the newest at the right. */
export function Matrix({ matrix: { times, rows, hidden } }: { matrix: CheckMatrix }): ReactNode {
  return (
    <div className={styles.scroll} role="region" aria-label={DETAILS.matrix(times.length)} tabIndex={0}>
      <p className="muted">
        {DETAILS.matrix(times.length)}
        {hidden > 0 && DETAILS.olderChecks(hidden)}
      </p>
      <table className={styles.matrix}>
        <thead className="hidden">
          <tr>
            <th scope="col">{DETAILS.checks}</th>
            {times.map((at, place) => (
              <th key={place} scope="col">
                {moment(at)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, results }) => (
            <tr key={name}>
              <th scope="row" className="wrap">
                {name}
              </th>
              {results.map((result, place) => (
                <td key={place} data-result={result} title={`${result ? DETAILS[result] : DETAILS.notPart}, ${moment(times[place] ?? "")}`}>
                  {result && <Icon name={ICONS[result]} />}
                  <span className="hidden">{result ? DETAILS[result] : DETAILS.notPart}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
