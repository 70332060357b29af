import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Ago } from "../../components/Ago";
import { Code } from "../../components/Code";
import { CodeLink } from "../../components/CodeLink";
import { HealthState } from "../../components/HealthState";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { RunState } from "../../components/RunState";
import { Tags } from "../../components/Tags";
import { runsOf } from "../../graph/places";
import { codeText } from "../../graph/repository";
import { formatView, type View } from "../../graph/view";
import { duration, shellQuoted } from "../../graph/words";
import { durationsOf } from "../../graph/durations";
import { JOB } from "../../strings/job";
import { Commands, Description, Freshness, Owners } from "./About";
import { ChangeHistory } from "./ChangeHistory";
import { Evidence } from "./Evidence";
import { Facets, Facts } from "./Facts";
import { Lateness } from "./Lateness";
import type { NodeAnswer } from "./props";
import type { Tab } from "./Tabs";
import { DurationChart } from "./Trends";
import { DETAILS } from "../../strings/details";
import details from "./details.module.css";
import states from "../../components/state.module.css";
import controls from "../../components/controls.module.css";
import { Loading } from "../../components/Skeleton";

/** Return the tabs of a job's details. */
export function jobTabs(node: NodeAnswer, view: View): Tab[] {
  return [
    { id: "about", title: DETAILS.tabs.about, content: () => <About node={node} view={view} /> },
    { id: "runs", title: DETAILS.tabs.runs, content: () => <Runs node={node} view={view} /> },
    { id: "history", title: DETAILS.tabs.history, content: () => <ChangeHistory node={node} view={view} /> },
    { id: "facets", title: DETAILS.tabs.facets, content: () => <Facets facets={node.facets} /> },
  ];
}

function About({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const code = node.code;
  return (
    <>
      <Description text={node.description} />
      <Facts
        facts={[
          [JOB.facts.state, <HealthState key="state" health={node.health} />],
          [JOB.facts.owners, <Owners key="owners" node={node} view={view} />],
          [JOB.facts.run, node.run && <RunState state={node.run.state} />],
          [JOB.facts.started, node.run && <Ago at={node.run.startedAt} />],
          [JOB.facts.duration, node.run?.durationMs != null && duration(node.run.durationMs)],
          [JOB.facts.freshness, node.run && node.health.state !== "streaming" && <Freshness node={node} view={view} />],
          [JOB.facts.tags, node.tags.length > 0 && <Tags tags={node.tags} />],
          [JOB.facts.code, codeText(code) && <CodeLink code={code} />],
        ]}
      />
      <Lateness id={node.id} view={view} />
      <Evidence id={node.id} view={view} />
      {node.sql && (
        <>
          <h3>{JOB.sql}</h3>
          <Code text={node.sql} language="sql" />
        </>
      )}
      {node.source && (
        <>
          <h3>{JOB.source}</h3>
          <Code text={node.source} language={node.language?.toLowerCase() === "sql" ? "sql" : "python"} />
        </>
      )}
      <Commands texts={[`headwater tree ${shellQuoted(node.id)}`, `headwater runs ${shellQuoted(node.id)}`]} />
    </>
  );
}

const SHOWN = 50;

function Runs({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const { data } = useAnswer("runs", { job: node.id, limit: SHOWN });
  if (!data) return <Loading />;
  const longest = Math.max(1, ...data.items.map((run) => run.durationMs ?? 0));
  const durations = durationsOf(data.items);
  return (
    <>
      {durations && <DurationChart durations={durations} view={view} />}
      {view.at && <p className="muted">{JOB.allRuns}</p>}
      <ul className={details.entries}>
        {data.items.map((run) => (
          <li key={run.runId} className={details.runEntry}>
            <Link className={details.entryLine} href={formatView({ ...view, open: `run:${run.runId}`, tab: null })}>
              <RunState state={run.state} className={details.state} />
              <span className={details.bar} aria-hidden="true">
                <i style={{ width: `${(100 * (run.durationMs ?? 0)) / longest}%` }} />
              </span>
              <span className="muted">{run.durationMs === null ? "" : duration(run.durationMs)}</span>
              {durations?.outliers.has(run.runId) && <span className={clsx(states.state, states.warn, details.state)}>{JOB.outlier}</span>}
              <span className={clsx("muted", details.entryAt)}>
                <Ago at={run.startedAt} />
              </span>
            </Link>
            <Link className={clsx(controls.button, controls.bare, controls.square)} href={formatView({ ...view, open: `run:${run.runId}`, tab: "below" })} aria-label={JOB.childrenOf(run.startedAt ?? "")} title={JOB.children}>
              <Icon name="bars" />
            </Link>
          </li>
        ))}
      </ul>
      {data.next && (
        <p className="muted">
          {JOB.newest(SHOWN)}{" "}
          <Link className={controls.link} href={runsOf(node.id)}>
            {JOB.all}
          </Link>
        </p>
      )}
    </>
  );
}
