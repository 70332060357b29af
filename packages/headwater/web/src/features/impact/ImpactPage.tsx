import { clsx } from "clsx";
import { useId, useMemo, type ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import { isUnknown } from "../../api/client";
import { go, useAddress } from "../../navigation/address";
import { Copy } from "../../components/Copy";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { AsOf, CommandPart, Sheet } from "../../components/Sheet";
import { ErrorMessage } from "../../components/ErrorMessage";
import { countLine, graphOf, impactText, filterByText, reachedOf } from "../../graph/impact";
import { impactOf, parseImpact, provenanceOf, type ImpactView } from "../../graph/places";
import type { Level, NodeId } from "../../graph/types";
import { DEEPEST } from "../../graph/view";
import { parts, shellQuoted } from "../../graph/words";
import { RecentDatasets } from "../fallback/EmptyView";
import { Owners } from "./Owners";
import { Verdict } from "./Verdict";
import { COMPONENTS } from "../../strings/components";
import { IMPACT } from "../../strings/impact";
import controls from "../../components/controls.module.css";
import sheets from "../../components/sheet.module.css";
import { ShownTime } from "../../components/now";
import { Loading } from "../../components/Skeleton";

const LEVELS: readonly Level[] = ["pipeline", "task", "query"];

/** Everything downstream of a dataset, column or job, by owner. */
export default function ImpactPage(): ReactNode {
  const view = parseImpact(useAddress().searchParams);
  const { node, field, at, text } = view;
  const level = (LEVELS as readonly string[]).includes(view.level) ? (view.level as Level) : "task";
  const answer = useAnswer("impact", { node, field, asOf: at, level, depth: DEEPEST });
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  const { data: about } = useAnswer("node", { node, asOf: at });
  const all = useMemo(() => reachedOf(data?.affected ?? []), [data]);
  const indirect = useMemo(() => reachedOf(data?.indirect ?? []), [data]);
  const possible = useMemo(() => reachedOf(data?.possible ?? []), [data]);
  const id = data?.node ?? node;
  const { title } = parts(id.slice(id.lastIndexOf(":") + 1), id.startsWith("job:") ? "job" : "dataset");
  const name = field ? `${title} ${field}` : title;
  const change = (others: Partial<ImpactView>, isSmall = false) => go(impactOf(node, { ...view, ...others }), isSmall);
  const command = ["headwater impact", shellQuoted(id), field && shellQuoted(field), level !== "task" && !field && `--level ${level}`, `--depth ${DEEPEST}`, at && `--as-of ${at}`].filter(Boolean).join(" ");
  return (
    <Sheet
      icon="impact"
      kind={COMPONENTS.impact}
      name={IMPACT.of(name)}
      title={<>{IMPACT.title[0]}{field ? <><code>{field}</code>{IMPACT.title[1]}{title}</> : title}</>}
      about={about?.id === id ? about.namespace : undefined}
      isBusy={isPlaceholderData}
      actions={
        <>
          <Link className={controls.button} href={graphOf({ id: id as NodeId, field }, at)}>
            <Icon name="pipeline" /> {COMPONENTS.graph}
          </Link>
          {!id.startsWith("job:") && (
            <Link className={controls.button} href={provenanceOf(id, { at })}>
              <Icon name="origin" /> {COMPONENTS.provenance}
            </Link>
          )}
          <Copy text={impactText(IMPACT.text(name, all.length > 0 ? countLine(all) : IMPACT.noNodes), all)} label={COMPONENTS.copy.text} isWide />
        </>
      }
    >
      <AsOf at={at} now={impactOf(node, { ...view, at: null })} />
      {trouble ? (
        <>
          <ErrorMessage error={trouble} />
          {isUnknown(trouble) && at === null && <RecentDatasets linkTo={impactOf} />}
        </>
      ) : (
        <>
          <div className={sheets.tools}>
            {about?.type === "dataset" && about.fields.length > 0 && (
              <select className={controls.select} aria-label={IMPACT.scope} value={field ?? ""} onChange={(event) => change({ field: event.target.value || null })}>
                <option value="">{IMPACT.whole}</option>
                {about.fields.map((column) => (
                  <option key={column.name} value={column.name}>
                    {column.name}
                  </option>
                ))}
                {field && !about.fields.some((column) => column.name === field) && <option value={field}>{field}</option>}
              </select>
            )}
            {!field && (
              <div className={controls.segments} role="group" aria-label={COMPONENTS.level}>
                {LEVELS.map((choice) => (
                  <button key={choice} type="button" aria-pressed={choice === level} onClick={() => change({ level: choice })}>
                    {COMPONENTS.levels[choice]}
                  </button>
                ))}
              </div>
            )}
            <input className={controls.field} value={text} placeholder={IMPACT.filterAbout} aria-label={IMPACT.filter} onChange={(event) => change({ text: event.target.value }, true)} />
          </div>
          {data ? (
            <ShownTime value={at}>
              {data.drop && <Verdict drop={data.drop} />}
              <Downstream all={all} text={text} isField={field !== null} clear={() => change({ text: "" })} at={at} />
              {data.unknown?.map(({ message }) => (
                <p key={message} className={sheets.line}>
                  {IMPACT.unknown(message)}
                </p>
              ))}
              <Dependents texts={IMPACT.indirect} reached={indirect} filter={text} at={at} />
              <Dependents texts={IMPACT.possible} reached={possible} filter={text} at={at} />
            </ShownTime>
          ) : (
            <Loading />
          )}
          <CommandPart text={command} />
        </>
      )}
    </Sheet>
  );
}

interface DependentsProps {
  /** The title and the explanation. */
  texts: readonly [string, string];
  reached: ReturnType<typeof reachedOf>;
  filter: string;
  at: string | null;
}

/** A section of indirect or possible dependents; hidden if empty. */
function Dependents({ texts: [title, text], reached, filter, at }: DependentsProps): ReactNode {
  const id = useId();
  if (reached.length === 0) return null;
  return (
    <section className={sheets.part} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p className="muted">{text}</p>
      <Owners reached={filterByText(reached, filter)} at={at} part={title} />
    </section>
  );
}

interface DownstreamProps {
  all: ReturnType<typeof reachedOf>;
  text: string;
  isField: boolean;
  clear: () => void;
  at: string | null;
}

function Downstream({ all, text, isField, clear, at }: DownstreamProps): ReactNode {
  const shown = filterByText(all, text);
  if (all.length === 0) return <p className={sheets.line}>{isField ? IMPACT.none.column : IMPACT.none.node}</p>;
  const hidden = all.length - shown.length;
  return (
    <>
      <p className={sheets.line} role="status">
        {shown.length > 0 ? countLine(shown) : IMPACT.noMatches}
        {hidden > 0 && (
          <span className="muted">
            {IMPACT.hidden(hidden)}{" "}
            <button type="button" className={controls.link} onClick={clear}>
              {IMPACT.show}
            </button>
          </span>
        )}
      </p>
      {all.some((node) => node.distance >= DEEPEST) && <p className={clsx(sheets.line, "muted")}>{IMPACT.deepest(DEEPEST)}</p>}
      <Owners reached={shown} at={at} />
    </>
  );
}
