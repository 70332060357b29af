import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { PROGRAM } from "../../api/base";
import { askAll, troubleOf, useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { save } from "../../api/save";
import { ErrorMessage } from "../../components/ErrorMessage";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { Loading } from "../../components/Skeleton";
import { CommandPart, Sheet } from "../../components/Sheet";
import { graphOf } from "../../graph/impact";
import { csvOf } from "../../graph/tags";
import type { NodeId } from "../../graph/types";
import { addressOf } from "../../graph/view";
import { parts, plural, shellQuoted } from "../../graph/words";
import { go, useAddress } from "../../navigation/address";
import { BROWSE } from "../../strings/browse";
import { changed, cursorsIn, listOf } from "./address";
import { PAGE, Pages } from "./Listing";
import styles from "./browse.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";
import sheets from "../../components/sheet.module.css";
import tagStyles from "../../components/tags.module.css";

type Table = Answer<"tagged">["items"][number];
type Column = Table["columns"][number];

const { tagged: TAGGED } = BROWSE;
const STATUSES = ["tagged", "derived", "possible", "masked"] as const;

/** The columns that have, inherit or mask a tag, by dataset. */
export function TaggedPage({ tag }: { tag: string }): ReactNode {
  const address = useAddress();
  const params = address.searchParams;
  const status = STATUSES.find((name) => name === params.get("status")) ?? null;
  const [failure, setFailure] = useState<Error | null>(null);
  const answer = useAnswer("tagged", { tag, status, limit: PAGE, cursor: cursorsIn(params).at(-1) ?? null });
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer) ?? failure;
  const download = () => {
    askAll("tagged", { tag, status }).then((tables) => save(TAGGED.file(tag), new Blob([csvOf(tables)], { type: "text/csv" })), setFailure);
  };
  const command = `${PROGRAM} tagged ${shellQuoted(tag)}${status ? ` --status ${status}` : ""} --csv`;
  return (
    <Sheet
      icon="tag"
      kind={TAGGED.kind}
      name={TAGGED.title(tag)}
      title={tag}
      about={data && !trouble && TAGGED.summary(data.counts)}
      isBusy={isPlaceholderData}
      actions={
        <>
          <button type="button" className={controls.button} disabled={!data?.total} onClick={download}>
            <Icon name="save" /> {TAGGED.csv}
          </button>
          <Link className={controls.button} href={listOf("/datasets", { tag })}>
            <Icon name="table" /> {BROWSE.datasets}
          </Link>
        </>
      }
    >
      {trouble && <ErrorMessage error={trouble} />}
      {!data && !trouble && <Loading />}
      {data && !trouble && (
        <>
          <div className={clsx(controls.segments, styles.parts)} role="group" aria-label={TAGGED.label}>
            {[null, ...STATUSES].map((choice) => (
              <button key={choice} type="button" aria-pressed={choice === status} onClick={() => go(changed(address, { status: choice }))}>
                {choice ? TAGGED.statuses[choice] : BROWSE.all} {choice && <span className="muted">{data.counts[choice].toLocaleString("en")}</span>}
              </button>
            ))}
          </div>
          {status && <p className="muted">{TAGGED.about[status]}</p>}
          {data.items.length === 0 && <p className={sheets.line}>{TAGGED.none}</p>}
          {data.items.map((table) => (
            <TaggedTable key={table.id} table={table} />
          ))}
          <Pages answer={data} isCurrent={!isPlaceholderData} />
          <CommandPart text={command} />
        </>
      )}
    </Sheet>
  );
}

function TaggedTable({ table }: { table: Table }): ReactNode {
  const { title, above } = parts(table.name, "dataset");
  return (
    <section className={clsx(cards.card, styles.tagged)} aria-label={table.name}>
      <h2>
        <Link className={controls.link} href={addressOf(table.id)} title={`${table.namespace} ${table.name}`}>
          {title}
        </Link>
        <span className="muted">{[above, plural(table.columns.length, "column"), ...table.owners].filter(Boolean).join(" · ")}</span>
      </h2>
      <ul>
        {table.columns.map((column) => (
          <TaggedRow key={column.field} table={table} column={column} />
        ))}
      </ul>
    </section>
  );
}

/** A column with its status and the path of the tag from the tagged column. */
function TaggedRow({ table, column: { field, status, path } }: { table: Table; column: Column }): ReactNode {
  return (
    <li>
      <Link className={controls.link} href={graphOf({ id: table.id as NodeId, field })}>
        {field === null ? TAGGED.whole : <code className="wrap">{field}</code>}
      </Link>
      <span className={clsx(tagStyles.chip, status !== "masked" && tagStyles.pii)}>{TAGGED.statuses[status]}</span>
      <span className="muted wrap">
        {path.slice(0, -1).map((step, place) => (
          <span key={place}>
            {place > 0 && " → "}
            <Link className={controls.link} href={graphOf({ id: `dataset:${step.namespace}:${step.name}` as NodeId, field: step.field })} title={step.name}>
              {[parts(step.name, "dataset").title, step.field].filter(Boolean).join(".")}
            </Link>
          </span>
        ))}
      </span>
    </li>
  );
}
