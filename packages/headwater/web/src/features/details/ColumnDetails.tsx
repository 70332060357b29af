import { clsx } from "clsx";
import { useMemo, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Code } from "../../components/Code";
import { CodeLink } from "../../components/CodeLink";
import { Command, Copy } from "../../components/Copy";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { RunState } from "../../components/RunState";
import { Tags } from "../../components/Tags";
import { ErrorMessage } from "../../components/ErrorMessage";
import { placesOf } from "../../graph/expression";
import { addressOfHit, tagsOfHit } from "../../graph/found";
import { columnOf } from "../../graph/lit";
import { foundOf, impactOf } from "../../graph/places";
import { codeText } from "../../graph/repository";
import { columnTags } from "../../graph/tags";
import { isDirect, transformationTexts } from "../../graph/transformation";
import { DEEPEST, formatView, type View } from "../../graph/view";
import { parts, shellQuoted } from "../../graph/words";
import { ColumnDescription } from "./About";
import { Verdict } from "../impact/Verdict";
import styles from "./column.module.css";
import type { DetailsProps } from "./props";
import { Tabs, type Tab } from "./Tabs";
import { COMPONENTS } from "../../strings/components";
import { COLUMN, DETAILS } from "../../strings/details";
import details from "./details.module.css";
import controls from "../../components/controls.module.css";
import tagStyles from "../../components/tags.module.css";
import { Loading } from "../../components/Skeleton";

type ColumnAnswer = Answer<"column">;
type Producer = ColumnAnswer["producers"][number];

/** Details of a column: its lineage, and other datasets with a column of its name. */
export function ColumnDetails({ id, view, change }: DetailsProps & { id: string }): ReactNode {
  const [node, field] = columnOf(id);
  const { data, error } = useAnswer("column", { node, field, asOf: view.at });
  const { data: impact, isPlaceholderData } = useAnswer("impact", { node, field, asOf: view.at, level: "task", depth: DEEPEST });
  if (error) return <div className={details.head}><ErrorMessage error={error} /></div>;
  if (!data) return <Loading />;
  const { title } = parts(node.slice(node.lastIndexOf(":") + 1), "dataset");
  const tabs: Tab[] = [
    { id: "made", title: DETAILS.tabs.lineage, content: () => <Producers column={data} view={view} /> },
    { id: "elsewhere", title: DETAILS.tabs.elsewhere, content: () => <Elsewhere node={data.node} field={field} /> },
  ];
  return (
    <>
      <div className={details.head}>
        <p className={clsx("muted", details.kind)}>
          <Icon name="column" />
          {COLUMN.kind}
          {data.type && <code>{data.type}</code>}
        </p>
        <h2 className={details.title}>
          {field}
          <Copy text={field} label={COMPONENTS.copy.name} />
        </h2>
        <p className="muted wrap">
          {COLUMN.of}
          <Link className={controls.link} href={formatView({ ...view, open: data.node, tab: null })}>
            {title}
          </Link>
        </p>
        <ColumnDescription column={data} />
        <Tags tags={columnTags(data.tags, data.node)} />
        {impact?.drop && !isPlaceholderData && (
          <div className={styles.wide}>
            <Verdict drop={impact.drop} />
          </div>
        )}
        <div className={details.links}>
          <Link className={controls.button} href={impactOf(data.node, { field, at: view.at })}>
            <Icon name="impact" /> {COLUMN.downstream}
          </Link>
        </div>
      </div>
      <Tabs tabs={tabs} selected={view.tab} select={(tab) => change({ tab })} />
    </>
  );
}

function Producers({ column, view }: { column: ColumnAnswer; view: View }): ReactNode {
  const asOf = view.at ? ` --as-of ${view.at}` : "";
  return (
    <>
      {column.producers.length === 0 && <p className="muted">{COLUMN.noProducer}</p>}
      {column.producers.map((producer) => (
        <ProducerItem key={`${producer.job.namespace} ${producer.job.name}`} producer={producer} field={column.field} view={view} />
      ))}
      <h3>{COMPONENTS.commandLine}</h3>
      <Command text={`headwater columns ${shellQuoted(column.node)} ${shellQuoted(column.field)} --indirect${asOf}`} />
    </>
  );
}

function ProducerItem({ producer, field, view }: { producer: Producer; field: string; view: View }): ReactNode {
  const { job, run, runs, inputs } = producer;
  const code = producer.code;
  const direct = inputs.filter((input) => isDirect(input.transformations));
  const indirect = inputs.filter((input) => !isDirect(input.transformations));
  const { title, above } = parts(producer.task.name, "job");
  return (
    <section className={details.madeBy} aria-label={COLUMN.by(job.name)}>
      <p className={details.entryLine}>
        <Link className={clsx(controls.link, "clip")} href={formatView({ ...view, open: `job:${job.namespace}:${job.name}`, tab: null })} title={job.name}>
          {title}
        </Link>
        <span className="muted clip">{above}</span>
      </p>
      <p className={clsx(details.entryLine, "muted")}>
        <RunState state={run.state} />
        <Ago at={run.startedAt} />
        {runs > 1 && <span>{COLUMN.writers(runs)}</span>}
      </p>
      {inputs.length === 0 && <p className="muted">{COLUMN.noLineage}</p>}
      <Inputs title={COLUMN.sources} inputs={direct} view={view} />
      <Inputs title={COLUMN.rows} inputs={indirect} view={view} />
      <ProducerCode producer={producer} field={field} />
      {codeText(code) && (
        <p>
          <span className="muted">{COLUMN.codeAt}</span>
          <CodeLink code={code} />
        </p>
      )}
    </section>
  );
}

function Inputs({ title, inputs, view }: { title: string; inputs: Producer["inputs"]; view: View }): ReactNode {
  if (inputs.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul className={details.entries}>
        {inputs.map((input) => (
          <li key={`${input.id} ${input.field}`}>
            <span className={clsx(details.entryLine, styles.source)}>
              <Link className={clsx(controls.link, "wrap")} href={formatView({ ...view, open: `column:${input.id}|${input.field}`, tab: null })} title={`${input.name} ${input.field}`}>
                {input.field}
              </Link>
              <span className="muted wrap">{parts(input.name, "dataset").title}</span>
              <span className={tagStyles.ways}>{transformationTexts(input.transformations).join("; ")}</span>
              {input.evidence !== "reported" && <span className="muted">{COLUMN.evidence[input.evidence]}</span>}
            </span>
            {input.transformations.map(({ description }) => description && <span key={description} className="muted">{description}</span>)}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The query or code that computes the column, with the column's expression highlighted if found. */
function ProducerCode({ producer: { sql, source, language: reported }, field }: { producer: Producer; field: string }): ReactNode {
  const text = sql ?? source;
  const language = sql !== null || reported?.toLowerCase() === "sql" ? "sql" : "python";
  const marks = useMemo(() => (text === null ? [] : placesOf(text, language, field)), [text, language, field]);
  if (text === null) return <p className="muted">{COLUMN.noCode}</p>;
  return (
    <>
      <h3>{COLUMN.code[language]}</h3>
      <Code text={text} language={language} marks={marks} />
      {marks.length === 0 && <p className="muted">{COLUMN.unnamed[language](field)}</p>}
    </>
  );
}

const SHOWN = 20;

/** Other datasets with a column of that name. */
function Elsewhere({ node, field }: { node: string; field: string }): ReactNode {
  const { data } = useAnswer("search", { text: field, limit: 200 });
  if (!data) return <Loading />;
  const others = data.items.filter((hit) => hit.matched === "column" && hit.text === field && hit.id !== node);
  return (
    <>
      <p className="muted">{COLUMN.others(others.length)}</p>
      <ul className={details.entries}>
        {others.slice(0, SHOWN).map((hit) => (
          <li key={hit.id}>
            <Link className={clsx(controls.link, "clip")} href={addressOfHit(hit)} title={hit.name}>
              {parts(hit.name, "dataset").title}
            </Link>
            <Tags tags={tagsOfHit(hit)} />
          </li>
        ))}
      </ul>
      <Link className={controls.link} href={foundOf(field)}>
        {COLUMN.search(field)}
      </Link>
    </>
  );
}
