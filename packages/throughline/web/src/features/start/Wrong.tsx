import { useState, type ReactNode } from "react";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { addressOf } from "../../graph/view";
import { duration, parts, plural } from "../../graph/words";

type Health = Answer<"health">;

interface Entry {
  key: string;
  name: string;
  href: string;
  about: string;
  at: string | null;
}

const jobId = (job: { namespace: string; name: string }) => `job:${job.namespace}:${job.name}`;

function ofRuns(runs: (Health["failed"][number] | Health["lost"][number])[]): Entry[] {
  return runs.map((run) => {
    const failure = "causes" in run ? run.causes[0] : undefined;
    const cause = failure ?? run;
    const where = cause.job.name === run.job.name ? "" : `${parts(cause.job.name, "job").title}: `;
    return {
      key: run.runId,
      name: run.job.name,
      href: addressOf(jobId(cause.job), { open: `run:${cause.runId}` }),
      about: failure?.message ? `${where}${failure.message}` : where.slice(0, -2),
      at: run.endedAt ?? run.startedAt,
    };
  });
}

function ofLate(jobs: Health["late"]): Entry[] {
  return jobs.map((each) => ({
    key: jobId(each.job),
    name: each.job.name,
    href: addressOf(jobId(each.job), { open: jobId(each.job) }),
    about: `${duration(each.lateSeconds * 1_000)} late; it runs every ${duration(each.everySeconds * 1_000)}`,
    at: each.lastStartedAt,
  }));
}

function ofChecks(checks: Health["quality"]): Entry[] {
  return checks.map((check) => ({
    key: check.dataset,
    name: check.dataset.slice(check.dataset.lastIndexOf(":") + 1),
    href: addressOf(check.dataset, { open: check.dataset, tab: "quality" }),
    about: check.assertions.map((each) => [each.assertion, each.column].filter(Boolean).join(" ")).join(", "),
    at: check.at,
  }));
}

/** What failed, is late, does not hold, or was never heard of again. */
export function Wrong({ health }: { health: Health }): ReactNode {
  const [isAll, setAll] = useState(false);
  return (
    <div className="wrong">
      {health.isHealthy && (
        <section className="card">
          <p className="state good all-good">
            <Icon name="done" /> Nothing failed, is late or broke a check.
          </p>
        </section>
      )}
      <Group title="Failed" tone="bad" icon="fail" entries={ofRuns(health.failed)} />
      <Group title="Late" tone="warn" icon="clock" entries={ofLate(health.late)} />
      <Group title="Checks that do not hold" tone="bad" icon="alert" entries={ofChecks(health.quality)} />
      <Group title="Lost: no end was ever told" tone="warn" icon="lost" entries={ofRuns(health.lost)} />
      {isAll && <Group title="Stopped long ago" tone="" icon="clock" entries={ofLate(health.stopped)} />}
      {health.stopped.length > 0 && !isAll && (
        <p className="card-foot muted">
          {plural(health.stopped.length, "job")} ran regularly and stopped long ago.{" "}
          <button type="button" className="link" onClick={() => setAll(true)}>
            Show
          </button>
        </p>
      )}
    </div>
  );
}

const FIRST = 5;

function Group({ title, tone, icon, entries }: { title: string; tone: string; icon: IconName; entries: Entry[] }): ReactNode {
  const [isAll, setAll] = useState(false);
  if (entries.length === 0) return null;
  return (
    <section className="card" aria-label={title}>
      <h2>
        {title} <span className="muted">{entries.length}</span>
      </h2>
      <ul className="rows">
        {(isAll ? entries : entries.slice(0, FIRST)).map((entry) => (
          <li key={entry.key}>
            <Link href={entry.href} className="row">
              <span className={`state ${tone}`}>
                <Icon name={icon} />
              </span>
              <span className="row-text">
                <span className="row-name clip" title={entry.name}>
                  {entry.name}
                </span>
                {entry.about && (
                  <span className="muted clip" title={entry.about}>
                    {entry.about}
                  </span>
                )}
              </span>
              <span className="row-number muted">
                <Ago at={entry.at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {!isAll && entries.length > FIRST && (
        <p className="card-foot">
          <button type="button" className="link" onClick={() => setAll(true)}>
            Show {entries.length - FIRST} more
          </button>
        </p>
      )}
    </section>
  );
}
