import "./found.css";
import type { ReactNode } from "react";
import { PROGRAM } from "../../api/base";
import { troubleOf, useAnswer } from "../../api/answers";
import { go, useAddress } from "../../app/address";
import { Command } from "../../components/Copy";
import { Link } from "../../components/Link";
import { PlatformIcon } from "../../components/PlatformIcon";
import { Sheet } from "../../components/Sheet";
import { Tags } from "../../components/Tags";
import { Trouble } from "../../components/Trouble";
import { addressOfHit, PLACES, type Hit } from "../../graph/found";
import { foundOf, impactOf, parseFound } from "../../graph/places";
import { kindText } from "../../platforms";
import { parts, plural, quoted } from "../../graph/words";

const PAGE = 200;
const MOST = 1_000;

/** Search results with counts by kind. */
export default function FoundPage(): ReactNode {
  const told = useAddress().searchParams;
  const { text, kind, isLong } = parseFound(told);
  const limit = isLong ? MOST : PAGE;
  const answer = useAnswer("search", text.trim() ? { text, limit } : null);
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  const counts = Object.entries(data?.counts ?? {}).filter(([, count]) => count > 0);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  const shown = (data?.items ?? []).filter((hit) => kind === null || hit.matched === kind);
  const isFuzzy = data?.items[0]?.isFuzzy ?? false;
  return (
    <Sheet icon="search" kind="Search" name={`Search ${text}`} title={<>Search results for <code>{text}</code></>} isBusy={isPlaceholderData}>
      {trouble && <Trouble error={trouble} />}
      {data && !trouble && (
        <>
          <p className="sheet-line" role="status">
            {all === 0 ? `No matches for “${text}” in names, columns, tags, owners, descriptions and SQL.` : isFuzzy ? `No matches for “${text}”. Similar names:` : `${plural(all, "place")}: ${counts.map(([where, count]) => counted(where, count)).join(", ")}`}
          </p>
          {counts.length > 1 && (
            <div className="segments found-kinds" role="group" aria-label="Kind of match">
              <button type="button" aria-pressed={kind === null} onClick={() => go(foundOf(text, { isLong }))}>
                All <span className="muted">{all}</span>
              </button>
              {counts.map(([where, count]) => (
                <button key={where} type="button" aria-pressed={kind === where} onClick={() => go(foundOf(text, { kind: where, isLong }))}>
                  {PLACES[where] ?? where} <span className="muted">{count}</span>
                </button>
              ))}
            </div>
          )}
          {shown.length > 0 && (
            <ul className="card found">
              {shown.map((hit) => (
                <Found key={hit.id} hit={hit} />
              ))}
            </ul>
          )}
          {data.next && (
            <p className="sheet-line muted">
              The first {data.items.length.toLocaleString("en")} of {all.toLocaleString("en")}.{" "}
              {!isLong ? (
                <button type="button" className="link" onClick={() => go(foundOf(text, { kind, isLong: true }))}>
                  Show more
                </button>
              ) : (
                `\`${PROGRAM} search\` lists all.`
              )}
            </p>
          )}
          <section className="sheet-part">
            <h2>On the command line</h2>
            <Command text={`throughline search ${quoted(text)}`} />
          </section>
        </>
      )}
    </Sheet>
  );
}

function counted(where: string, count: number): string {
  if (where === "column") return `${plural(count, "dataset")} with such a column`;
  if (where === "sql") return plural(count, "query", "queries");
  return plural(count, PLACES[where]?.toLowerCase() ?? where);
}

function Found({ hit }: { hit: Hit }): ReactNode {
  const { title, above } = parts(hit.name, hit.type === "job" ? "job" : "dataset");
  const isColumn = hit.matched === "column";
  return (
    <li>
      <PlatformIcon node={hit} />
      <Link className="found-name" href={addressOfHit(hit)} title={`${hit.name}\n${hit.namespace}\nShow it in the graph`}>
        <span className="clip">{title}</span>
        <span className="muted clip">
          {kindText(hit)} · {above || hit.namespace}
        </span>
      </Link>
      <span className="found-text clip" title={hit.text}>
        {hit.matched !== "name" && (
          <>
            <span className="muted">{PLACES[hit.matched]}</span> <code>{hit.text}</code>
          </>
        )}
      </span>
      <span className="found-tags">
        <Tags tags={hit.tags} />
      </span>
      <Link className="link" href={impactOf(hit.id, isColumn ? { field: hit.text } : {})} aria-label={`Impact of ${isColumn ? `${hit.text} of ` : ""}${hit.name}`}>
        Impact
      </Link>
    </li>
  );
}
