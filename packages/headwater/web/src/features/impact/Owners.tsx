import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { Ago } from "../../components/Ago";
import { HealthLabel } from "../../components/HealthState";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { RunState } from "../../components/RunState";
import { Tags } from "../../components/Tags";
import { isProblem } from "../../graph/state";
import { byOwner, graphOf, type OwnerGroup, type Reached } from "../../graph/impact";
import { COMPONENTS } from "../../strings/components";
import { IMPACT } from "../../strings/impact";
import cards from "../../components/card.module.css";
import styles from "./impact.module.css";
import controls from "../../components/controls.module.css";
import tagStyles from "../../components/tags.module.css";

const FIRST = 50;

interface Props {
  reached: readonly Reached[];
  at: string | null;
  /** The heading of the section, if it has one. */
  part?: string;
}

/** Downstream nodes, in one table per owner. */
export function Owners({ reached, at, part }: Props): ReactNode {
  return byOwner(reached).map((group) => <Owner key={group.owner ?? ""} group={group} at={at} part={part} />);
}

function Owner({ group: { owner, reached }, at, part }: Omit<Props, "reached"> & { group: OwnerGroup }): ReactNode {
  const [isAll, setAll] = useState(false);
  const Heading = part ? "h3" : "h2";
  const inferredCount = reached.filter((node) => node.isByJob).length;
  return (
    <section className={clsx(cards.card, styles.owner)} aria-label={IMPACT.ownerIn(owner ?? IMPACT.noOwner, part)}>
      <Heading>
        {owner ?? IMPACT.noOwner} <span className="muted">{reached.length.toLocaleString("en")}</span>
        {inferredCount > 0 && <span className={clsx("muted", styles.ownerNote)}>{IMPACT.inferred(inferredCount, reached.length)}</span>}
      </Heading>
      <table className={styles.reached}>
        <thead>
          <tr>
            <th scope="col">{IMPACT.heads.steps}</th>
            <th scope="col">{IMPACT.heads.name}</th>
            <th scope="col">{IMPACT.heads.kind}</th>
            <th scope="col">{IMPACT.heads.how}</th>
            <th scope="col">{IMPACT.heads.tags}</th>
          </tr>
        </thead>
        <tbody>
          {(isAll ? reached : reached.slice(0, FIRST)).map((node) => (
            <Row key={node.key} reached={node} at={at} />
          ))}
        </tbody>
      </table>
      {!isAll && reached.length > FIRST && (
        <p className={cards.cardFoot}>
          <button type="button" className={controls.link} onClick={() => setAll(true)}>
            {COMPONENTS.showMore(reached.length - FIRST)}
          </button>
        </p>
      )}
    </section>
  );
}

function Row({ reached, at }: { reached: Reached; at: string | null }): ReactNode {
  const { title, above, namespace, field, kind, run, health } = reached;
  return (
    <tr>
      <td className={clsx(styles.reachedFar, "muted")}>{reached.distance}</td>
      <th scope="row">
        <Link className={styles.reachedName} href={graphOf(reached, at)} title={IMPACT.row([above, title, field].filter(Boolean).join(" "), namespace)}>
          <Icon name={(field ? "column" : kind) as IconName} />
          <span className="clip">
            {field ?? title}
            <span className="muted"> {field ? title : above || namespace}</span>
          </span>
        </Link>
      </th>
      <td className="muted">{field ? IMPACT.column : kind}</td>
      <td className={styles.reachedHow}>
        <span>
          {reached.how && <span className={tagStyles.ways}>{reached.how}</span>}
          {run && (
            <>
              {isProblem(health) ? <HealthLabel health={health} /> : <RunState state={run.state} />}
              <span className="muted">
                <Ago at={run.startedAt} />
              </span>
            </>
          )}
        </span>
      </td>
      <td>
        <Tags tags={reached.tags} />
      </td>
    </tr>
  );
}
