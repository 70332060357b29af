import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { Answer } from "../../api/client";
import { Icon, type IconName } from "../../components/Icon";
import { IMPACT } from "../../strings/impact";
import styles from "./verdict.module.css";

type Drop = NonNullable<Answer<"impact">["drop"]>;

const ICON: Record<Drop["verdict"], IconName> = { safe: "done", unsafe: "fail", unknown: "lost" };

/** The server's verdict on dropping a column, with its reasons. */
export function Verdict({ drop: { verdict, reasons } }: { drop: Drop }): ReactNode {
  return (
    <section className={clsx(styles.verdict, styles[verdict])} aria-label={IMPACT.verdictLabel}>
      <h2 className={styles.heading}>
        <Icon name={ICON[verdict]} /> {IMPACT.verdict[verdict]}
      </h2>
      <ul className={styles.reasons}>
        {verdict === "unknown" && <li className="muted">{IMPACT.unknownHint}</li>}
        {reasons.map(({ kind, message }) => (
          <li key={kind}>{message}</li>
        ))}
      </ul>
    </section>
  );
}
