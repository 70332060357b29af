import { clsx } from "clsx";
import type { ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import { Ago } from "../../components/Ago";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { Sheet } from "../../components/Sheet";
import { ErrorMessage } from "../../components/ErrorMessage";
import { impactOf, provenanceOf } from "../../graph/places";
import { addressOf } from "../../graph/view";
import { parts } from "../../graph/words";
import styles from "./emptyView.module.css";

interface EmptyViewContent {
  icon: IconName;
  kind: string;
  title: string;
  about: string;
  /** Parameters that select the subject of the view. */
  parameters: readonly string[];
  linkTo: (node: string) => string;
}

const VIEWS: Record<string, EmptyViewContent> = {
  "/lineage": {
    icon: "pipeline",
    kind: "Graph",
    title: "Upstream and downstream lineage",
    about: "The graph shows the jobs and data around a table, a model or a job, now or at any time.",
    parameters: ["node", "from"],
    linkTo: addressOf,
  },
  "/provenance": {
    icon: "origin",
    kind: "Provenance",
    title: "Upstream versions",
    about: "Provenance lists every upstream version, run and commit of a table or model, down to the files.",
    parameters: ["node"],
    linkTo: provenanceOf,
  },
  "/impact": {
    icon: "impact",
    kind: "Impact",
    title: "Downstream impact",
    about: "Impact lists everything downstream of a table, a column or a job, by owner.",
    parameters: ["node"],
    linkTo: impactOf,
  },
  "/search": {
    icon: "search",
    kind: "Search",
    title: "Search the lineage",
    about: "Search lists every match in names, columns, tags, owners, descriptions and SQL.",
    parameters: ["text"],
    linkTo: addressOf,
  },
};

/** Return the empty state of a view whose address has no subject, or null. */
export function emptyViewAt({ pathname, searchParams }: URL): ReactNode {
  const view = VIEWS[pathname];
  if (!view || view.parameters.some((parameter) => searchParams.get(parameter)?.trim())) return null;
  return (
    <Sheet icon={view.icon} kind={view.kind} name={view.kind} title={view.title} about={view.about}>
      <RecentDatasets linkTo={view.linkTo} />
    </Sheet>
  );
}

/** A search hint and the recently written datasets. */
export function RecentDatasets({ linkTo }: Pick<EmptyViewContent, "linkTo">): ReactNode {
  const answer = useAnswer("newest", {});
  const { data } = answer;
  const trouble = troubleOf(answer);
  return (
    <>
      <p className="sheet-line">
        <span>
          Search above (<kbd>/</kbd>){data && data.items.length > 0 ? ", or select a recently written dataset:" : "."}
        </span>
      </p>
      {trouble && <ErrorMessage error={trouble} />}
      {data && data.items.length > 0 && (
        <ul className={clsx(styles.newest, "card rows")} aria-label="Recently written">
          {data.items.map((dataset) => {
            const { title, above } = parts(dataset.name, "dataset");
            return (
              <li key={dataset.id}>
                <Link href={linkTo(dataset.id)} className="row">
                  <Icon name={dataset.kind as IconName} />
                  <span className="row-name clip" title={dataset.name}>
                    {title} <span className="muted">{above || dataset.namespace}</span>
                  </span>
                  <span className="row-number muted">
                    <Ago at={dataset.writtenAt} />
                  </span>
                </Link>
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}
