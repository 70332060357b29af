import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { Sheet } from "../../components/Sheet";
import { ErrorMessage } from "../../components/ErrorMessage";
import { addressOf } from "../../graph/view";
import { nameOf, parts } from "../../graph/words";
import { COMPLETENESS, MISSING } from "../../strings/completeness";
import { COMPONENTS } from "../../strings/components";
import styles from "./completeness.module.css";
import cards from "../../components/card.module.css";
import states from "../../components/state.module.css";
import controls from "../../components/controls.module.css";

type Pipeline = Answer<"completeness/pipelines">["items"][number];
type Finding = Pipeline["missing"][number];

/** Missing lineage by pipeline, with remedies. */
export default function CompletenessPage(): ReactNode {
  const answer = useAnswer("completeness/pipelines", {});
  const { data } = answer;
  const trouble = troubleOf(answer);
  const all = data?.items ?? [];
  const incomplete = all.filter(({ missing }) => missing.length > 0);
  const complete = all.filter(({ missing, isMeasured }) => missing.length === 0 && isMeasured);
  const unknown = all.filter(({ missing, isMeasured }) => missing.length === 0 && !isMeasured);
  return (
    <Sheet icon="alert" kind={COMPLETENESS.kind} name={COMPLETENESS.kind} title={COMPLETENESS.title} about={COMPLETENESS.about}>
      {trouble && <ErrorMessage error={trouble} />}
      {data && <p role="status">{data.uncounted > 0 ? COMPLETENESS.uncounted(data.uncounted) : summaryOf(incomplete.length, complete.length, all.length)}</p>}
      {incomplete.map((pipeline) => (
        <Incomplete key={pipeline.id} pipeline={pipeline} />
      ))}
      <Others title={COMPLETENESS.completeTitle(complete.length)} pipelines={complete} icon="done" />
      <Others title={COMPLETENESS.unknownTitle(unknown.length)} pipelines={unknown} icon="alert" />
      {data?.next && <p className="muted">{COMPLETENESS.more(all.length)}</p>}
    </Sheet>
  );
}

function summaryOf(incomplete: number, complete: number, all: number): string {
  if (all === 0) return COMPLETENESS.none;
  return complete === all ? COMPLETENESS.allComplete : COMPLETENESS.summary(incomplete, all);
}

/** The pipelines of which nothing is missing, or nothing is known. */
function Others({ title, pipelines, icon }: { title: string; pipelines: readonly Pipeline[]; icon: "done" | "alert" }): ReactNode {
  if (pipelines.length === 0) return null;
  return (
    <section className={cards.card} aria-label={title}>
      <h2>{title}</h2>
      <ul className={cards.rows}>
        {pipelines.map(({ id, job }) => (
          <li key={id}>
            <Link className={cards.row} href={addressOf(id)}>
              <span className={clsx(states.state, icon === "done" ? states.good : states.warn)}>
                <Icon name={icon} />
              </span>
              <span className={clsx(cards.rowName, "clip")} title={job.name}>
                {job.name}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Incomplete({ pipeline: { id, job, missing } }: { pipeline: Pipeline }): ReactNode {
  const kinds = [...new Set(missing.map(({ kind }) => kind))];
  return (
    <section className={clsx(cards.card, styles.pipeline)} aria-label={job.name}>
      <h2 className={styles["head"]}>
        <Link className={clsx(controls.link, "clip")} href={addressOf(id)} title={job.name}>
          {job.name}
        </Link>
        <span className={clsx(states.state, states.warn)}>
          <Icon name="alert" />
          {COMPLETENESS.missing(missing.length)}
        </span>
      </h2>
      {kinds.map((kind) => (
        <Missing key={kind} kind={kind} findings={missing.filter((finding) => finding.kind === kind)} />
      ))}
    </section>
  );
}

const FIRST = 10;

function Missing({ kind, findings }: { kind: string; findings: Finding[] }): ReactNode {
  const [isAll, setAll] = useState(false);
  return (
    <div className={styles["missing"]}>
      <h3>
        {MISSING[kind] ?? kind} <span className="muted">{findings.length.toLocaleString("en")}</span>
      </h3>
      <ul>
        {(isAll ? findings : findings.slice(0, FIRST)).map(({ subject, message, runId }) => (
          <li key={subject} className={styles["job"]}>
            <Link className={clsx(controls.link, "clip")} href={addressOf(subject, { open: runId ? `run:${runId}` : subject })} title={nameOf(subject)}>
              {parts(nameOf(subject), "job").title}
            </Link>
            <span className="muted">{message}</span>
          </li>
        ))}
      </ul>
      {!isAll && findings.length > FIRST && (
        <button type="button" className={controls.link} onClick={() => setAll(true)}>
          {COMPONENTS.showMore(findings.length - FIRST)}
        </button>
      )}
      <p className={styles["remedy"]}>
        <strong>{COMPLETENESS.remedy}</strong> {findings[0]?.remedy}
      </p>
    </div>
  );
}
