import type { ReactNode } from "react";
import { Link } from "../../components/Link";
import type { DurationBar, Durations } from "../../graph/durations";
import { formatView, type View } from "../../graph/view";
import { duration, moment } from "../../graph/words";
import { JOB } from "../../strings/job";
import styles from "./durations.module.css";

/** A bar chart of a job's run durations with their median; the list of runs below has the same values as text. */
export function DurationChart({ durations: { bars, median, medianHeight, outliers }, view }: { durations: Durations; view: View }): ReactNode {
  return (
    <figure className={styles.chart} aria-label={JOB.durations}>
      <div className={styles.bars} aria-hidden="true">
        {bars.map((bar) => (
          <Link key={bar.runId} href={formatView({ ...view, open: `run:${bar.runId}`, tab: null })} title={JOB.bar(duration(bar.durationMs), moment(bar.startedAt), noteOf(bar))} tabIndex={-1}>
            <i className={bar.isFailed ? styles.failed : bar.isOutlier ? styles.outlier : ""} style={{ height: `${bar.height}%` }} />
          </Link>
        ))}
        <span className={styles.median} style={{ bottom: `${medianHeight}%` }} />
      </div>
      <figcaption>{JOB.summary(duration(median), outliers.size, bars.length)}</figcaption>
    </figure>
  );
}

function noteOf({ isFailed, isOutlier }: DurationBar): string {
  return isFailed ? JOB.notCompleted : isOutlier ? JOB.outlier : "";
}
