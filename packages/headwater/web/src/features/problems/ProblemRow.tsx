import { clsx } from "clsx";
import type { ReactNode } from "react";
import { IS_STATIC } from "../../api/base";
import type { Answer, FindingChange } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { OutLinks } from "../../components/OutLink";
import { useNow } from "../../components/now";
import { impactOf, incidentOf } from "../../graph/places";
import { addressOf } from "../../graph/view";
import { parts, withAges } from "../../graph/words";
import { PROBLEMS } from "../../strings/problems";
import { Actions, stateOf, type Decide } from "./Actions";
import styles from "./problemsPage.module.css";
import controls from "../../components/controls.module.css";
import states from "../../components/state.module.css";

export type Problem = Answer<"problems">["items"][number];

export const ICONS: Readonly<Record<Problem["kind"], IconName>> = { failed: "fail", late: "clock", quality: "alert", lost: "lost", stopped: "clock", branches: "alert" };

/** Return the changes of the findings of problems; several problems may share a finding. */
export function changesOf(problems: readonly Problem[], change: Parameters<Decide>[0]): FindingChange[] {
  const findings = new Map(problems.flatMap((problem) => problem.findings.map((finding) => [`${finding.kind} ${finding.subject}`, finding] as const)));
  return [...findings.values()].map((finding) => ({ ...finding, ...change }));
}

interface RowProps {
  problem: Problem;
  title: string;
  /** Selects the problem; without it, the row has no checkbox. */
  mark?: (id: string, isMarked: boolean) => void;
  isMarked?: boolean;
  decide: Decide;
}

/** A problem with its error, its log, and what was not rebuilt since. */
export function ProblemRow({ problem, title, isMarked, mark, decide }: RowProps): ReactNode {
  const { id, kind, severity, cause, pipeline, error, links, runId, at } = problem;
  const now = useNow();
  const open = kind === "failed" || kind === "lost" ? runId && `run:${runId}` : cause.id;
  const isDue = kind === "late" || kind === "stopped"; // the message has the time
  const isShared = pipeline !== null && problem.findings.length > 0;
  return (
    <li>
      {!IS_STATIC && mark && <input type="checkbox" aria-label={PROBLEMS.select(title)} checked={isMarked ?? false} onChange={(event) => mark(id, event.target.checked)} />}
      <span className={clsx(states.state, severity === "error" ? states.bad : states.warn)}>
        <Icon name={ICONS[kind]} />
      </span>
      <div className={styles.text}>
        <p>
          <Link className={styles.name} href={addressOf(cause.id, { open, tab: kind === "quality" ? "quality" : null })} title={cause.name}>
            {title}
          </Link>{" "}
          {withAges(problem.message, now)}
          {pipeline && (
            <span className="muted">
              {" "}
              {PROBLEMS.partOf}{" "}
              <Link className={styles.pipeline} href={addressOf(pipeline.id)} title={isShared ? PROBLEMS.shared(pipeline.name) : undefined}>
                {parts(pipeline.name, "job").title}
              </Link>
            </span>
          )}
          {!isDue && (
            <span className={clsx("muted", styles.age)}>
              <Ago at={at} />
            </span>
          )}
        </p>
        {error.length > 0 && <pre className={styles.error}>{error.join("\n")}</pre>}
        {error.length === 0 && kind === "failed" && <p className="muted">{PROBLEMS.noError}</p>}
        <Affected problem={problem} />
        <p className={styles.foot}>
          <OutLinks links={links} />
          {kind === "quality" && (
            <Link className={controls.link} href={incidentOf(cause.id)}>
              {PROBLEMS.incident}
            </Link>
          )}
          <span className="muted">{problem.state === "open" ? remedyOf(problem) : stateOf(problem)}</span>
        </p>
      </div>
      {!IS_STATIC && <Actions finding={problem} name={title} decide={decide} />}
    </li>
  );
}

/** Return the remedy as a sentence; an empty string if it is only to correct the failure. */
function remedyOf({ kind, remedy }: Problem): string {
  if (kind === "failed" && remedy.startsWith("correct")) return "";
  return `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`;
}

/** Counts of what a problem affects, its owners, and a link to the impact. */
function Affected({ problem: { cause, datasets, jobs, views, exposures, tags, owners } }: { problem: Problem }): ReactNode {
  const tier = tags.find(({ value }) => /^tier\b/i.test(value));
  const counts = [datasets > 0 && PROBLEMS.notRebuilt(datasets), tier && PROBLEMS.tagged(tier.count, tier.value), jobs > 0 && PROBLEMS.jobs(jobs), views > 0 && PROBLEMS.views(views), exposures > 0 && PROBLEMS.exposures(exposures)].filter(Boolean).join(", ");
  const whose = owners.length > 0 && PROBLEMS.owners(owners);
  if (!counts && !whose) return null;
  return (
    <p>
      {counts && (
        <Link className={controls.link} href={impactOf(cause.id)} title={PROBLEMS.affected}>
          {counts}
        </Link>
      )}
      {counts && whose && " · "}
      {whose}
    </p>
  );
}
