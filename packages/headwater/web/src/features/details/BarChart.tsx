import type { ReactNode } from "react";
import { Link } from "../../components/Link";
import styles from "./durations.module.css";

interface Bar {
  key: string;
  href: string;
  title: string;
  /** Percentage of the chart's height. */
  height: number;
  tone?: "failed" | "outlier" | undefined;
}

interface Props {
  label: string;
  bars: readonly Bar[];
  medianHeight: number;
  /** A summary of the values as text. */
  children: ReactNode;
}

/** Bars with their median; the list below has the same values as text. */
export function BarChart({ label, bars, medianHeight, children }: Props): ReactNode {
  return (
    <figure className={styles.chart} aria-label={label}>
      <div className={styles.bars} aria-hidden="true">
        {bars.map(({ key, href, title, height, tone }) => (
          <Link key={key} href={href} title={title} tabIndex={-1}>
            <i className={tone ? styles[tone] : ""} style={{ height: `${height}%` }} />
          </Link>
        ))}
        <span className={styles.median} style={{ bottom: `${medianHeight}%` }} />
      </div>
      <figcaption>{children}</figcaption>
    </figure>
  );
}
