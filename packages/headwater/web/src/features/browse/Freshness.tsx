import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { HealthLabel } from "../../components/HealthState";
import { Link } from "../../components/Link";
import { useNow } from "../../components/now";
import { addressOf } from "../../graph/view";
import { ago, distinctNames, duration, moment, parts, until } from "../../graph/words";
import { go, useAddress } from "../../navigation/address";
import { BROWSE } from "../../strings/browse";
import { changed } from "./address";
import { NodeName } from "./rows";
import styles from "./browse.module.css";
import controls from "../../components/controls.module.css";

type Dataset = Answer<"freshness/datasets">["items"][number];
type Counts = Answer<"freshness/datasets">["counts"];
export type Part = keyof Counts;

const { fresh: FRESH } = BROWSE;
type Other = "unused" | "names";
const OTHERS: readonly Other[] = ["unused", "names"];
const isOther = (part: string): part is Other => part === "unused" || part === "names";
const PARTS: readonly Part[] = ["scheduled", "day", "risk", "late", "unscheduled", "sources"];

/** Return the part of the freshness list that an address selects; null for the list of datasets. */
export function partIn(params: URLSearchParams): Part | null {
  return PARTS.find((part) => part === params.get("fresh")) ?? null;
}

/** Buttons that select the list of datasets, a part of the freshness list, the unused datasets or the names to join. */
export function Parts({ part, counts }: { part: Part | Other | null; counts?: Counts | undefined }): ReactNode {
  const address = useAddress();
  const isFresh = part !== null && !isOther(part);
  return (
    <>
      <div className={clsx(controls.segments, styles.parts)} role="group" aria-label={FRESH.label}>
        {[null, ...(isFresh ? PARTS : PARTS.slice(0, 2)), ...(isFresh ? [] : OTHERS)].map((choice) => (
          <button key={choice} type="button" aria-pressed={choice === part} onClick={() => go(changed(address, { fresh: choice, sort: null, verdict: null, days: null }))}>
            {FRESH.parts[choice ?? "list"]} {choice && !isOther(choice) && counts && <span className="muted">{counts[choice].toLocaleString("en")}</span>}
          </button>
        ))}
      </div>
      {isFresh && <p className="muted">{FRESH.about[part]}</p>}
    </>
  );
}

/** Rows of the freshness list, below the names of its columns. */
export function freshnessRows(datasets: readonly Dataset[]): ReactNode {
  return rowsBelow(FRESH.columns, datasets, (dataset, title) => (
    <Row key={dataset.id} dataset={dataset} title={title} />
  ));
}

/** The rows of a list of datasets, below the names of its columns. */
export function rowsBelow<D extends Parameters<typeof distinctNames>[0][number]>(columns: Readonly<Record<string, string>>, datasets: readonly D[], row: (dataset: D, title: string) => ReactNode): ReactNode {
  const titles = distinctNames(datasets);
  return (
    <>
      <li className={styles.columns} aria-hidden="true">
        <span />
        {Object.values(columns).map((column) => (
          <span key={column}>{column}</span>
        ))}
      </li>
      {datasets.map((dataset) => row(dataset, titles.get(dataset.id) ?? dataset.name))}
    </>
  );
}

function Row({ dataset, title }: { dataset: Dataset; title: string }): ReactNode {
  const { columns } = FRESH;
  const { writtenAt, everySeconds, dueAt, isOverdue, health } = dataset;
  const now = useNow();
  return (
    <li>
      <NodeName node={dataset} title={title} />
      <span className={styles.cell} data-column={columns.written}>
        {writtenAt ? <Ago at={writtenAt} /> : <span className="muted">{BROWSE.noWrites}</span>}
      </span>
      <span className={styles.cell} data-column={columns.every}>
        {everySeconds ? duration(everySeconds * 1_000) : <span className="muted">{FRESH.unknown}</span>}
      </span>
      <span className={styles.cell} data-column={columns.due}>
        {dueAt === null ? (
          <span className="muted">{FRESH.unknown}</span>
        ) : isOverdue ? (
          <span className={styles.overdue} title={moment(dueAt)}>
            {FRESH.overdue(ago(dueAt, now).replace(/ ago$/, ""))}
          </span>
        ) : (
          <time dateTime={dueAt} title={moment(dueAt)}>
            {until(dueAt, now)}
          </time>
        )}
      </span>
      <span className={styles.cell} data-column={columns.state}>
        <HealthLabel health={health} isShort={dataset.risks.length > 0} />
      </span>
      {dataset.risks.length > 0 && <Risks dataset={dataset} />}
    </li>
  );
}

/** The failures that put a dataset at risk, with links. */
function Risks({ dataset: { risks, health } }: { dataset: Dataset }): ReactNode {
  const isBehind = health.state === "failed" || health.state === "blocked";
  return (
    <span className={styles.risks}>
      <span>{isBehind ? FRESH.cause : FRESH.risk}</span>
      {risks.map(({ id, name, type }) => (
        <Link key={id} className={controls.link} href={addressOf(id, { open: id })} title={name}>
          {parts(name, type).title} {type === "job" ? FRESH.failed : FRESH.failedChecks}
        </Link>
      ))}
    </span>
  );
}
