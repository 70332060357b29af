import { clsx } from "clsx";
import type { ReactNode } from "react";
import { PROGRAM } from "../../api/base";
import { troubleOf, useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { go, useAddress } from "../../navigation/address";
import { Ago } from "../../components/Ago";
import { HealthMark } from "../../components/HealthState";
import { Link } from "../../components/Link";
import { RemovalMark } from "../../components/Removal";
import { CommandPart, Sheet } from "../../components/Sheet";
import { Tags } from "../../components/Tags";
import { ErrorMessage } from "../../components/ErrorMessage";
import { addressOfHit, PLACES, tagsOfHit, type Hit } from "../../graph/found";
import { impactOf, parseFound } from "../../graph/places";
import { distinctNames, plural, shellQuoted } from "../../graph/words";
import { BROWSE } from "../../strings/browse";
import { changed, nodeStateIn, selectedIn } from "../browse/address";
import { Filters } from "../browse/Filters";
import { NodeName } from "../browse/rows";
import { COMPONENTS, SEARCH } from "../../strings/components";
import cards from "../../components/card.module.css";
import styles from "./found.module.css";
import sheets from "../../components/sheet.module.css";
import controls from "../../components/controls.module.css";

const PAGE = 200;
const MOST = 1_000;
const KINDS = ["name", "column", "tag", "owner", "description", "sql", "error", "run", "version"] as const;

/** Search results with filters, and counts by kind. */
export default function SearchPage(): ReactNode {
  const address = useAddress();
  const { text, kind, isLong } = parseFound(address.searchParams);
  const { state, ...selected } = selectedIn(address.searchParams);
  const inState = nodeStateIn(state);
  const matched = KINDS.find((choice) => choice === kind);
  const answer = useAnswer("search", text.trim() ? { text, matched, ...selected, state: inState, limit: isLong ? MOST : PAGE, facets: true } : null);
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  const titles = distinctNames(data?.items ?? []);
  const command = `headwater search ${shellQuoted(text)}`;
  return (
    <Sheet icon="search" kind={SEARCH.kind} name={SEARCH.tab(text)} title={<>{SEARCH.resultsFor} <code>{text}</code></>} isBusy={isPlaceholderData}>
      {trouble && <ErrorMessage error={trouble} />}
      {data && !trouble && (
        <>
          <Counts text={text} answer={data} isFiltered={Object.keys(selected).length > 0 || inState !== undefined} kind={matched ?? null} />
          <Filters facets={data.facets} />
          {data.items.length > 0 && (
            <ul className={clsx(cards.card, styles.found)} aria-label={SEARCH.results}>
              {data.items.map((hit) => (
                <Result key={hit.id} hit={hit} title={titles.get(hit.id) ?? hit.name} />
              ))}
            </ul>
          )}
          {data.next && (
            <p className={clsx(sheets.line, "muted")}>
              {SEARCH.first(data.items.length, data.total ?? 0)}{" "}
              {!isLong ? (
                <button type="button" className={controls.link} onClick={() => go(changed(address, { list: "long" }))}>
                  {SEARCH.more}
                </button>
              ) : (
                SEARCH.listed(PROGRAM)
              )}
            </p>
          )}
          <Syntax />
          <CommandPart text={command} />
        </>
      )}
    </Sheet>
  );
}

/** The search language by example. */
function Syntax(): ReactNode {
  return (
    <details className={styles.syntax}>
      <summary>{SEARCH.syntax}</summary>
      <dl>
        {SEARCH.examples.map(([example, meaning]) => (
          <div key={example}>
            <dt>
              <Link className={controls.link} href={`/search?text=${encodeURIComponent(example)}`}>
                <code>{example}</code>
              </Link>
            </dt>
            <dd className="muted">{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

interface CountsProps {
  text: string;
  answer: Answer<"search">;
  isFiltered: boolean;
  kind: string | null;
}

/** The number of results by kind of match, as filters. */
function Counts({ text, answer, isFiltered, kind }: CountsProps): ReactNode {
  const address = useAddress();
  const counts = Object.entries(answer.counts).filter(([, count]) => count > 0);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  const select = (where: string | null) => go(changed(address, { in: where }));
  return (
    <>
      <p className={sheets.line} role="status">
        {all === 0 ? (answer.uncounted > 0 ? SEARCH.noneYet(text) : noMatches(text, isFiltered)) : answer.items[0]?.isFuzzy ? SEARCH.similar(text) : SEARCH.counts(all, counts.map(([where, count]) => countText(where, count)))}
      </p>
      {answer.uncounted > 0 && <p className={sheets.line}>{SEARCH.uncounted(answer.uncounted)}</p>}
      {answer.unreadTexts > 0 && <p className={sheets.line}>{SEARCH.unread(answer.unreadTexts)}</p>}
      {(counts.length > 1 || kind !== null) && (
        <div className={clsx(controls.segments, styles.kinds)} role="group" aria-label={SEARCH.kinds}>
          <button type="button" aria-pressed={kind === null} onClick={() => select(null)}>
            {SEARCH.allKinds} <span className="muted">{all}</span>
          </button>
          {counts.map(([where, count]) => (
            <button key={where} type="button" aria-pressed={kind === where} onClick={() => select(where)}>
              {PLACES[where] ?? where} <span className="muted">{count}</span>
            </button>
          ))}
        </div>
      )}
    </>
  );
}

function noMatches(text: string, isFiltered: boolean): string {
  return isFiltered ? SEARCH.noFiltered(text) : SEARCH.noMatches(text);
}

function countText(where: string, count: number): string {
  if (where === "column") return SEARCH.ofColumn(count);
  if (where === "sql") return SEARCH.ofSql(count);
  return plural(count, PLACES[where]?.toLowerCase() ?? where);
}

function Result({ hit, title }: { hit: Hit; title: string }): ReactNode {
  const isColumn = hit.matched === "column";
  return (
    <li>
      <NodeName node={hit} title={title} href={addressOfHit(hit)} />
      <span className={clsx(styles.text, "clip")} title={hit.text}>
        {hit.matched !== "name" && (
          <>
            <span className="muted">{PLACES[hit.matched]}</span> <code>{hit.text}</code>
          </>
        )}
      </span>
      <span className={styles.tags}>
        <HealthMark health={hit.health} />
        <RemovalMark removal={hit.removal} />
        <Tags tags={tagsOfHit(hit)} />
      </span>
      <span className={clsx(styles.when, "muted")} title={hit.type === "job" ? BROWSE.startedAt : BROWSE.writtenAt}>
        {hit.activeAt === null ? (hit.type === "job" ? BROWSE.noRuns : BROWSE.noWrites) : <Ago at={hit.activeAt} />}
      </span>
      <Link className={clsx(controls.link, styles.impact)} href={impactOf(hit.id, isColumn ? { field: hit.text } : {})} aria-label={SEARCH.impactOf(hit.name, isColumn ? hit.text : null)}>
        {COMPONENTS.impact}
      </Link>
    </li>
  );
}
