import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { ONE_FILE } from "../../api/base";
import { Link } from "../../components/Link";
import { addressOf } from "../../graph/view";
import { BROWSE } from "../../strings/browse";
import { COMPONENTS } from "../../strings/components";
import { START } from "../../strings/start";
import styles from "./freshness.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";

const PARTS = ["scheduled", "day", "risk", "late", "unscheduled", "sources"] as const;

/** The datasets with a schedule by due time, colored by state, and the size of each part of the freshness list. */
export function FreshnessStrip(): ReactNode {
  const { data } = useAnswer("freshness/datasets", {});
  if (!data) return null;
  return (
    <section className={cards.card} aria-labelledby="fresh">
      <h2 id="fresh">{START.freshness}</h2>
      {data.items.length > 0 && (
        <div className={styles.strip} aria-hidden="true">
          {data.items.map(({ id, name, health, isOverdue }) => (
            <Link key={id} href={addressOf(id, { open: id })} tabIndex={-1} data-state={health.state} data-overdue={isOverdue || undefined} title={`${name}: ${COMPONENTS.health[health.state]}${isOverdue ? START.overdue : ""}`} />
          ))}
        </div>
      )}
      {data.uncounted > 0 && <p className={clsx("muted", styles.first)}>{START.uncounted(data.uncounted)}</p>}
      {data.next && <p className={clsx("muted", styles.first)}>{START.firstDue(data.items.length)}</p>}
      <p className={styles.parts}>
        {PARTS.filter((part) => part === "scheduled" || data.counts[part] > 0).map((part) => {
          const text = `${data.counts[part].toLocaleString("en")} ${START.parts[part]}`;
          return (
            <span key={part}>
              {ONE_FILE ? text : <Link className={controls.link} href={`/datasets?fresh=${part}`} title={BROWSE.fresh.about[part]}>{text}</Link>}
            </span>
          );
        })}
      </p>
    </section>
  );
}
