import { clsx } from "clsx";
import type { ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import { Ago } from "../../components/Ago";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { Sheet } from "../../components/Sheet";
import { ErrorMessage } from "../../components/ErrorMessage";
import { impactOf, incidentOf, provenanceOf } from "../../graph/places";
import { addressOf } from "../../graph/view";
import { parts } from "../../graph/words";
import { SEARCH } from "../../strings/components";
import { FALLBACK } from "../../strings/fallback";
import styles from "./emptyView.module.css";
import sheets from "../../components/sheet.module.css";
import cards from "../../components/card.module.css";

interface EmptyViewContent {
  icon: IconName;
  /** Parameters that select the subject of the view. */
  parameters: readonly string[];
  linkTo: (node: string) => string;
}

const VIEWS: Readonly<Record<keyof typeof FALLBACK.views, EmptyViewContent>> = {
  "/lineage": {
    icon: "pipeline",
    parameters: ["node", "from"],
    linkTo: addressOf,
  },
  "/provenance": {
    icon: "origin",
    parameters: ["node"],
    linkTo: provenanceOf,
  },
  "/impact": {
    icon: "impact",
    parameters: ["node"],
    linkTo: impactOf,
  },
  "/incident": {
    icon: "alert",
    parameters: ["subject"],
    linkTo: (node) => incidentOf(node),
  },
  "/version": {
    icon: "clock",
    parameters: ["version"],
    linkTo: (node) => addressOf(node, { open: node, tab: "versions" }),
  },
  "/search": {
    icon: "search",
    parameters: ["text"],
    linkTo: addressOf,
  },
};

/** Return the empty state of a view whose address has no subject, or null. */
export function emptyViewAt({ pathname, searchParams }: URL): ReactNode {
  if (!isKnown(pathname)) return null;
  const view = VIEWS[pathname];
  if (view.parameters.some((parameter) => searchParams.get(parameter)?.trim())) return null;
  const [kind, title, about] = FALLBACK.views[pathname];
  return (
    <Sheet icon={view.icon} kind={kind} name={kind} title={title} about={about}>
      <RecentDatasets linkTo={view.linkTo} />
    </Sheet>
  );
}

function isKnown(pathname: string): pathname is keyof typeof FALLBACK.views {
  return Object.hasOwn(FALLBACK.views, pathname);
}

/** A search hint and the recently written datasets. */
export function RecentDatasets({ linkTo }: Pick<EmptyViewContent, "linkTo">): ReactNode {
  const answer = useAnswer("newest", {});
  const { data } = answer;
  const trouble = troubleOf(answer);
  return (
    <>
      <p className={sheets.line}>
        <span>
          {FALLBACK.hint[0]}
          <kbd>{SEARCH.key}</kbd>
          {FALLBACK.hint[1]}
          {FALLBACK.hintEnd(data !== undefined && data.items.length > 0)}
        </span>
      </p>
      {trouble && <ErrorMessage error={trouble} />}
      {data && data.items.length > 0 && (
        <ul className={clsx(cards.card, cards.rows, styles.newest)} aria-label={FALLBACK.recent}>
          {data.items.map((dataset) => {
            const { title, above } = parts(dataset.name, "dataset");
            return (
              <li key={dataset.id}>
                <Link href={linkTo(dataset.id)} className={cards.row}>
                  <Icon name={dataset.kind as IconName} />
                  <span className={clsx(cards.rowName, "clip")} title={dataset.name}>
                    {title} <span className="muted">{above || dataset.namespace}</span>
                  </span>
                  <span className={clsx(cards.rowNumber, "muted")}>
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
