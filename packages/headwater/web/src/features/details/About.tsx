import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Ago } from "../../components/Ago";
import { Command } from "../../components/Copy";
import { Link } from "../../components/Link";
import { Prose } from "../../components/Prose";
import { formatView, type View } from "../../graph/view";
import { duration, parts, taskName } from "../../graph/words";
import { DETAILS } from "../../strings/details";
import styles from "./about.module.css";
import type { NodeAnswer } from "./props";
import { COMPONENTS } from "../../strings/components";
import controls from "../../components/controls.module.css";
import states from "../../components/state.module.css";
import details from "./details.module.css";

/** The reported description of a node. */
export function Description({ text }: { text: string | null }): ReactNode {
  return text ? <p className="wrap"><Prose text={text} /></p> : <p className="muted">{DETAILS.noDescription}</p>;
}

type Described = Pick<NodeAnswer["fields"][number], "description" | "inheritedDescription">;

/** The description of a column, or else the one it inherits. */
export function ColumnDescription({ column: { description, inheritedDescription: inherited } }: { column: Described }): ReactNode {
  const text = description ?? inherited?.text;
  if (!text) return null;
  return (
    <p className="muted wrap">
      <Prose text={text} />
      {inherited && <i> {DETAILS.inherited(`${parts(inherited.column.name, "dataset").title}.${inherited.column.field ?? ""}`)}</i>}
    </p>
  );
}

/** The reported owners, or else those of the writing job, the parent job, or the dataset with the same columns. */
export function Owners({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const { owners, inferredOwners: inferred } = node;
  if (owners.length > 0) return owners.join(", ");
  if (!inferred) return <span className="muted">{DETAILS.notReported}</span>;
  return (
    <>
      {inferred.owners.join(", ")}
      <br />
      <span className={clsx("muted", styles.inferred)}>
        {DETAILS.inferred}{" "}
        <Link className={clsx(controls.link, "wrap")} href={formatView({ ...view, open: inferred.node.id, tab: null })} title={inferred.node.name}>
          {inferred.node.type === "job" ? taskName(inferred.node.name) : parts(inferred.node.name, "dataset").title}
        </Link>
        {DETAILS.inferredHow[inferred.node.type === "dataset" ? "columns" : node.type]}
      </span>
    </>
  );
}

/** The freshness of a node by its own schedule. */
export function Freshness({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const { data } = useAnswer("lateness", { node: node.id, asOf: view.at });
  if (data?.node !== node.id) return null;
  const { everySeconds, dueAt, isLate, isStopped } = data;
  if (isLate || isStopped) {
    return (
      <span className={clsx(states.state, states.warn)}>
        {isStopped ? DETAILS.fresh.stopped : DETAILS.fresh.late} <Ago at={dueAt} />
      </span>
    );
  }
  if (everySeconds === null) return <span className="muted">{DETAILS.fresh.unknown}</span>;
  return DETAILS.fresh.usual(duration(everySeconds * 1_000), data.health.state === "healthy");
}

/** Commands with the same content, in a collapsed section. */
export function Commands({ texts }: { texts: readonly string[] }): ReactNode {
  return (
    <details className={details.facet}>
      <summary>{COMPONENTS.commandLine}</summary>
      {texts.map((text) => (
        <Command key={text} text={text} />
      ))}
    </details>
  );
}
