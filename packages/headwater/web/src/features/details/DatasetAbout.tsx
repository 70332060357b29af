import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Ago } from "../../components/Ago";
import { HealthState } from "../../components/HealthState";
import { Link } from "../../components/Link";
import { RemovalState } from "../../components/Removal";
import { Tags } from "../../components/Tags";
import type { Answer } from "../../api/client";
import { openColumn } from "../../graph/lit";
import { versionOf } from "../../graph/places";
import { formatView, type View } from "../../graph/view";
import { parts, shellQuoted } from "../../graph/words";
import { DETAILS } from "../../strings/details";
import { Assertion } from "./Assertion";
import { ColumnDescription, Commands, Description, Freshness, Owners } from "./About";
import styles from "./about.module.css";
import { Evidence } from "./Evidence";
import { Facts } from "./Facts";
import { Lateness } from "./Lateness";
import type { NodeAnswer } from "./props";
import controls from "../../components/controls.module.css";

interface Props {
  node: NodeAnswer;
  view: View;
}

const MOST_COLUMNS = 8;
const HISTORY = 200;

/** A dataset in reading order: purpose, owner, freshness, size, columns, checks, commands. */
export function DatasetAbout({ node, view }: Props): ReactNode {
  const asOf = view.at ? ` --as-of ${view.at}` : "";
  const { facts } = DETAILS;
  const { data: recalled } = useAnswer("taints", { node: node.id, asOf: view.at });
  const isGone = node.removal !== null && node.removal.kind !== "emptied";
  return (
    <>
      <Description text={node.description} />
      <Facts
        facts={[
          [facts.state, isGone && node.removal ? <RemovalState key="state" removal={node.removal} /> : <HealthState key="state" health={node.health} />],
          [facts.contents, !isGone && node.removal && <RemovalState key="contents" removal={node.removal} />],
          [facts.recalled, recalled && recalled.items.length > 0 && <Recalled key="recalled" versions={recalled.items} at={view.at} />],
          [facts.owners, <Owners key="owners" node={node} view={view} />],
          [facts.written, node.writtenAt ? <Ago at={node.writtenAt} /> : <span className="muted">{DETAILS.noWriter}</span>],
          [facts.freshness, node.writtenAt && !isGone && <Freshness node={node} view={view} />],
          [facts.rows, node.rows?.toLocaleString("en")],
          [facts.version, node.version && <code className="wrap">{node.version}</code>],
          [facts.tags, node.tags.length > 0 && <Tags tags={node.tags} />],
          [facts.aliases, node.aliases.length > 0 && <Aliases aliases={node.aliases} />],
        ]}
      />
      <Lateness id={node.id} view={view} />
      <Columns node={node} view={view} />
      <Checks node={node} view={view} />
      <Evidence id={node.id} view={view} />
      <Commands texts={[`headwater tree ${shellQuoted(node.id)}${asOf}`, `headwater impact ${shellQuoted(node.id)}${asOf}`]} />
    </>
  );
}

/** The recalled versions whose data a dataset contains, with the reasons. */
function Recalled({ versions, at }: { versions: Answer<"taints">["items"]; at: string | null }): ReactNode {
  return (
    <ul>
      {versions.map(({ id, name, version, reason }) => (
        <li key={`${id} ${version}`} className="wrap">
          <Link className={controls.link} href={versionOf(`${id}@${version}`, at)}>
            {DETAILS.recalledVersion(parts(name, "dataset").title, version)}
          </Link>{" "}
          {reason}
        </li>
      ))}
    </ul>
  );
}

function Aliases({ aliases }: { aliases: NodeAnswer["aliases"] }): ReactNode {
  return (
    <ul>
      {aliases.map((alias) => (
        <li key={`${alias.namespace} ${alias.name}`} className="wrap">
          {alias.name} <span className="muted">{alias.namespace}</span>
        </li>
      ))}
    </ul>
  );
}

/** The first columns with type, description and tags. */
function Columns({ node, view }: Props): ReactNode {
  const count = node.fields.length;
  return (
    <section aria-label={DETAILS.columns}>
      <h3>
        {DETAILS.columns} {count > 0 && <span className="muted">{count}</span>}
      </h3>
      {count === 0 && <p className="muted">{DETAILS.noColumns}</p>}
      <ul className={styles["columns"]}>
        {node.fields.slice(0, MOST_COLUMNS).map((field) => (
          <li key={field.name}>
            <div className={styles["head"]}>
              <Link className={controls.link} href={formatView({ ...view, open: openColumn(node.id, field.name), tab: null })}>
                <code className="wrap">{field.name}</code>
              </Link>
              <code className={clsx("muted", "clip", styles.type)} title={field.type}>
                {field.type}
              </code>
            </div>
            <ColumnDescription column={field} />
            <Tags tags={field.tags} />
          </li>
        ))}
      </ul>
      {count > MOST_COLUMNS && <TabLink view={view} tab="schema" text={DETAILS.allColumns(count)} />}
    </section>
  );
}

/** The assertions of the newest check. */
function Checks({ node, view }: Props): ReactNode {
  const { data } = useAnswer("history", node.failedChecks === null ? null : { node: node.id, asOf: view.at, limit: HISTORY });
  const newest = data?.items.find((entry) => entry.done === "checked" && entry.assertions.length > 0);
  const assertions = newest?.done === "checked" ? newest.assertions : [];
  return (
    <section aria-label={DETAILS.checks}>
      <h3>
        {DETAILS.checks} {newest && <span className={clsx("muted", styles.at)}><Ago at={newest.at} /></span>}
      </h3>
      {node.failedChecks === null && <p className="muted">{DETAILS.noChecks}</p>}
      <ul className={styles["checks"]}>
        {assertions.map((assertion, place) => (
          <li key={place}>
            <Assertion assertion={assertion} isLabeled />
          </li>
        ))}
      </ul>
      {newest && <TabLink view={view} tab="quality" text={DETAILS.allChecks} />}
    </section>
  );
}

function TabLink({ view, tab, text }: { view: View; tab: string; text: string }): ReactNode {
  return (
    <Link className={controls.link} href={formatView({ ...view, tab })}>
      {text}
    </Link>
  );
}
