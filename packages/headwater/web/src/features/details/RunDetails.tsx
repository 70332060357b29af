import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useRun } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { CodeLink } from "../../components/CodeLink";
import { Command, Copy } from "../../components/Copy";
import { Link } from "../../components/Link";
import { OutLink, OutLinks } from "../../components/OutLink";
import { PlatformIcon } from "../../components/PlatformIcon";
import { RunState } from "../../components/RunState";
import { Skeleton } from "../../components/Skeleton";
import { ErrorMessage } from "../../components/ErrorMessage";
import { codeText } from "../../graph/repository";
import { formatView, type View } from "../../graph/view";
import { kindText } from "../../platforms";
import { cardCommand, duration, errorLines, moment, parts, restOf, shellQuoted } from "../../graph/words";
import { DETAILS, RUN } from "../../strings/details";
import type { DetailsProps } from "./props";
import styles from "./causes.module.css";
import { Events } from "./Events";
import { Facets, Facts } from "./Facts";
import { RunGantt } from "./RunGantt";
import { Tabs, type Tab } from "./Tabs";
import { COMPONENTS } from "../../strings/components";
import details from "./details.module.css";
import controls from "../../components/controls.module.css";
import messages from "../../components/message.module.css";

type Run = Answer<"runs/{run_id}">;

/** Details of a run. */
export function RunDetails({ id, view, change }: DetailsProps & { id: string }): ReactNode {
  const { data: run, error } = useRun(id);
  if (error) return <div className={details.head}><ErrorMessage error={error} /></div>;
  if (!run) return <Skeleton />;
  const tabs: Tab[] = [
    { id: "about", title: DETAILS.tabs.about, content: () => <About run={run} view={view} /> },
    { id: "below", title: DETAILS.tabs.children, count: run.below.length, content: () => <RunGantt runId={run.runId} view={view} /> },
    { id: "events", title: DETAILS.tabs.events, content: () => <Events runId={run.runId} /> },
    { id: "facets", title: DETAILS.tabs.facets, content: () => <Facets facets={run.facets} /> },
  ];
  const named = parts(run.job.name, "job");
  const rest = restOf(run.job.name, named);
  return (
    <>
      <div className={details.head}>
        <p className={clsx("muted", details.kind)}>
          <PlatformIcon node={{ kind: "run", namespace: run.job.namespace, platform: run.platform }} isNamed />
          {kindText({ kind: "run", namespace: run.job.namespace, platform: run.platform })}
        </p>
        <h2 className={details.title}>{named.title}</h2>
        {rest && <p className="muted wrap">{rest}</p>}
        <p className={clsx("muted", details.entryLine)}>
          <code className="clip">{run.runId}</code>
          <Copy text={run.runId} label={RUN.copyId} />
        </p>
        <Link className={controls.link} href={formatView({ ...view, open: `job:${run.job.namespace}:${run.job.name}`, tab: null })}>
          {RUN.allRuns}
        </Link>
        <OutLinks links={run.links} />
      </div>
      <Tabs tabs={tabs} selected={view.tab} select={(tab) => change({ tab })} />
    </>
  );
}

function About({ run, view }: { run: Run; view: View }): ReactNode {
  const parameters = Object.entries(run.parameters);
  const card = cardCommand(run.facets);
  return (
    <>
      {view.at && <p className="muted">{RUN.current(moment(view.at))}</p>}
      {run.error && <Failure error={run.error} links={run.links} />}
      {run.causes.length > 0 && <Causes causes={run.causes} view={view} />}
      <Facts
        facts={[
          [RUN.facts.state, <RunState key="state" state={run.state} />],
          [RUN.facts.started, run.startedAt !== null && <><Ago at={run.startedAt} /> <span className="muted">{moment(run.startedAt)}</span></>],
          [RUN.facts.duration, run.durationMs !== null && duration(run.durationMs)],
          [RUN.facts.code, codeText(run.code) && <CodeLink code={run.code} />],
          [RUN.facts.ownId, run.ownId && <span className="wrap">{run.ownId}</span>],
        ]}
      />
      {run.above.length > 0 && (
        <>
          <h3>{RUN.above}</h3>
          <ul className={details.entries}>
            {run.above.map((parent, place) => (
              <li key={parent.runId} className={details.entryLine}>
                <RunLink run={parent} view={view} />
                <span className="muted">{place === run.above.length - 1 ? RUN.root : RUN.parent}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <DatasetList title={RUN.read} datasets={run.inputs} view={view} />
      <DatasetList title={RUN.wrote} datasets={run.outputs.filter((output) => !output.hasFailed)} view={view} />
      <DatasetList title={RUN.failedToWrite} datasets={run.outputs.filter((output) => output.hasFailed)} view={view} />
      {parameters.length > 0 && (
        <>
          <h3>{RUN.parameters}</h3>
          <Facts facts={parameters.map(([name, value]) => [name, <code key={name} className="wrap">{typeof value === "string" ? value : JSON.stringify(value)}</code>])} />
        </>
      )}
      <h3>{COMPONENTS.commandLine}</h3>
      {card && <Command text={card} label={RUN.copyCard} />}
      <Command text={`headwater runs --tree ${shellQuoted(run.runId)}`} />
    </>
  );
}

/** The first line of an error, the rest in a collapsed section, and a link to the log. */
function Failure({ error, links }: { error: string; links: Run["links"] }): ReactNode {
  const { first, rest } = errorLines(error);
  return (
    <section className={clsx(messages.note, messages.bad, details.failure)} aria-label={RUN.error}>
      <p className="wrap">{first}</p>
      {links[0] && <OutLink href={links[0].url}>{RUN.log(links[0].name)}</OutLink>}
      {rest && (
        <details>
          <summary>{RUN.fullError}</summary>
          <pre className="wrap" tabIndex={0} role="region" aria-label={RUN.fullError}>{rest}</pre>
        </details>
      )}
    </section>
  );
}

/** The failed runs below a failed run, each with the first line of its error and a link to its log. */
function Causes({ causes, view }: { causes: Run["causes"]; view: View }): ReactNode {
  return (
    <section className={clsx(messages.note, messages.bad, styles.causes)} aria-label={DETAILS.failedBelow}>
      <h3>{DETAILS.failedBelow}</h3>
      <ul className={styles.list}>
        {causes.map(({ error, links, ...cause }) => (
          <li key={cause.runId}>
            <RunLink run={cause} view={view} />
            <p className="wrap">{error ? errorLines(error).first : DETAILS.noError}</p>
            {links[0] && <OutLink href={links[0].url}>{RUN.log(links[0].name)}</OutLink>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function RunLink({ run, view }: { run: { runId: string; state: string; job: { name: string } }; view: View }): ReactNode {
  return (
    <Link className={clsx(details.entryLine, details.runLink)} href={formatView({ ...view, open: `run:${run.runId}`, tab: null })}>
      <RunState state={run.state} className={details.state} />
      <span className="clip" title={run.job.name}>
        {run.job.name}
      </span>
    </Link>
  );
}

function DatasetList({ title, datasets, view }: { title: string; datasets: Run["inputs"]; view: View }): ReactNode {
  if (datasets.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul className={details.entries}>
        {datasets.map((dataset) => (
          <li key={`${dataset.namespace} ${dataset.name}`}>
            <Link className={clsx(controls.link, "clip")} href={formatView({ ...view, open: `dataset:${dataset.namespace}:${dataset.name}`, tab: null })} title={`${dataset.namespace} ${dataset.name}`}>
              {parts(dataset.name, "dataset").title}
            </Link>
            {dataset.version !== null && (
              <code className="muted clip" title={dataset.version}>
                {dataset.version}
              </code>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
