import { clsx } from "clsx";
import styles from "./browse.module.css";
import { Fragment, type ReactNode } from "react";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { HealthMark, HealthState } from "../../components/HealthState";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { PlatformIcon } from "../../components/PlatformIcon";
import { RemovalMark } from "../../components/Removal";
import { RunState } from "../../components/RunState";
import { Tags } from "../../components/Tags";
import { distinctNames, duration, parts, plural } from "../../graph/words";
import { addressOf } from "../../graph/view";
import { kindText } from "../../platforms";
import { BROWSE } from "../../strings/browse";
import { listOf, type Facet } from "./address";
import controls from "../../components/controls.module.css";

type Dataset = Answer<"datasets">["items"][number];
type Job = Answer<"jobs">["items"][number];
type Run = Answer<"runs">["items"][number];
type Group = Answer<"groups">["items"][number];

interface Named {
  id: string;
  namespace: string;
  name: string;
  kind: string;
  platform: string | null;
}

/** The name of a node as a link to its graph, with its platform, type and full path below. */
export function NodeName({ node, title, href = addressOf(node.id) }: { node: Named; title: string; href?: string }): ReactNode {
  const path = pathOf(node);
  return (
    <>
      <PlatformIcon node={node} />
      <Link className={styles.node} href={href} title={path}>
        <span className="clip">{title}</span>
        <span className={styles.path}>
          {kindText(node)} · <BreakablePath path={path} />
        </span>
      </Link>
    </>
  );
}

/** Return the namespace and name of a node as a path. The namespaces `file` and `https` have no path of their own. */
function pathOf({ namespace, name, kind }: Named): string {
  if (kind === "file" && !namespace.includes(":")) return `${namespace}:${name.startsWith("/") ? "" : "//"}${name}`;
  return `${namespace}${namespace.endsWith("/") || name.startsWith("/") ? "" : "/"}${name}`;
}

/** A path with line breaks after its separators. */
function BreakablePath({ path }: { path: string }): ReactNode {
  return path.split(/(?<=[/.:])/).map((piece, place) => (
    <Fragment key={place}>
      {place > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}

export function datasetRows(datasets: readonly Dataset[]): ReactNode {
  const titles = distinctNames(datasets);
  return datasets.map((dataset) => (
    <li key={dataset.id}>
      <NodeName node={dataset} title={titles.get(dataset.id) ?? dataset.name} />
      <span className={styles.owner}>
        {dataset.owners.join(", ")}
        {dataset.owners.length === 0 && (
          <span className="muted" title={BROWSE.ofWriters}>
            {dataset.jobOwners.join(", ")}
          </span>
        )}
      </span>
      <span className={styles.tags}>
        <HealthMark health={dataset.health} />
        <RemovalMark removal={dataset.removal} />
        <Tags tags={dataset.tags} />
      </span>
      <span className={styles.when} title={BROWSE.writtenAt}>
        {dataset.writtenAt === null ? BROWSE.noWrites : <Ago at={dataset.writtenAt} />}
      </span>
    </li>
  ));
}

export function jobRows(jobs: readonly Job[]): ReactNode {
  const titles = distinctNames(jobs);
  return jobs.map((job) => (
    <li key={job.id}>
      <NodeName node={job} title={titles.get(job.id) ?? job.name} />
      <span className={styles.owner}>{job.owners.join(", ")}</span>
      <span className={styles.tags}>
        {job.run?.state !== "FAILED" && <HealthMark health={job.health} />}
        <Tags tags={job.tags} />
      </span>
      <span className={styles.when} title={BROWSE.startedAt}>
        {job.run === null ? (
          BROWSE.noRuns
        ) : job.health.state === "streaming" ? (
          <HealthState health={job.health} />
        ) : (
          <>
            <RunState state={job.run.state} />
            <Ago at={job.run.startedAt} />
          </>
        )}
      </span>
    </li>
  ));
}

export function runRows(runs: readonly Run[]): ReactNode {
  return runs.map((run) => {
    const { namespace, name } = run.job;
    const node = { id: `job:${namespace}:${name}`, namespace, name, kind: "run", platform: run.platform };
    return (
      <li key={`${run.runId} ${name}`}>
        <NodeName node={node} title={parts(name, "job").title} href={addressOf(node.id, { open: `run:${run.runId}` })} />
        <span className={styles.owner}>
          <RunState state={run.state} />
        </span>
        <span className={styles.tags} />
        <span className={styles.when}>
          {run.durationMs !== null && <span>{duration(run.durationMs)}</span>}
          <Ago at={run.startedAt} />
        </span>
      </li>
    );
  });
}

/** Return rows of owners or tags, with links to their datasets and jobs. */
export function groupRows(groups: readonly Group[], facet: Facet & ("owner" | "tag"), icon: IconName): ReactNode {
  return groups.map(({ value, datasets, jobs }) => {
    const [ofDatasets, ofJobs] = [listOf("/datasets", { [facet]: value }), listOf("/jobs", { [facet]: value })];
    const name = value || BROWSE.noValue[facet];
    return (
      <li key={value}>
        <Icon name={icon} />
        <Link className={clsx(styles.node, !value && styles.without)} href={datasets === 0 ? ofJobs : facet === "tag" && value ? listOf("/tags", { tag: value }) : ofDatasets}>
          <span className="clip" title={name}>
            {name}
          </span>
        </Link>
        <span className={styles.counts}>
          <Count count={datasets} one="dataset" href={ofDatasets} of={name} />
          <Count count={jobs} one="job" href={ofJobs} of={name} />
        </span>
      </li>
    );
  });
}

function Count({ count, one, href, of }: { count: number; one: string; href: string; of: string }): ReactNode {
  if (count === 0) return <span className="muted">–</span>;
  const text = plural(count, one);
  return (
    <Link className={controls.link} href={href} aria-label={`${text}: ${of}`}>
      {text}
    </Link>
  );
}
