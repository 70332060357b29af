import { useState, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { addressOf } from "../../graph/view";
import { nameOf, parts, plural, withMoments } from "../../graph/words";

type Finding = Answer<"findings">["items"][number];

interface Entry {
  key: string;
  name: string;
  href: string;
  about: string;
  at: string | null;
}

/** An entry for a finding with a link to its cause: the lowest failed run, or the failed checks. */
function entryOf(finding: Finding): Entry {
  const cause = finding.causes?.[0] ?? finding;
  const isRun = finding.kind === "failed" || finding.kind === "lost";
  const open = isRun && cause.runId ? `run:${cause.runId}` : cause.subject;
  const where = cause === finding ? "" : `${parts(nameOf(cause.subject), "job").title} `;
  return {
    key: `${finding.subject} ${finding.runId}`,
    name: nameOf(finding.subject),
    href: addressOf(cause.subject, { open, tab: finding.kind === "quality" ? "quality" : null }),
    about: where + withMoments(cause.message),
    at: finding.at,
  };
}

/** Failed, late and stale runs, and failed checks. */
export function Wrong({ isHealthy }: { isHealthy: boolean }): ReactNode {
  const [isAll, setAll] = useState(false);
  const { data } = useAnswer("findings", {});
  const entries = (kind: string) => (data?.items ?? []).filter((finding) => finding.kind === kind).map(entryOf);
  const stopped = entries("stopped");
  return (
    <div className="wrong">
      {isHealthy && (
        <section className="card">
          <p className="state good all-good">
            <Icon name="done" /> No failures, late jobs or failed checks.
          </p>
        </section>
      )}
      <Group title="Failed" tone="bad" icon="fail" entries={entries("failed")} />
      <Group title="Late" tone="warn" icon="clock" entries={entries("late")} />
      <Group title="Failed checks" tone="bad" icon="alert" entries={entries("quality")} />
      <Group title="No end event" tone="warn" icon="lost" entries={entries("lost")} />
      {isAll && <Group title="Stopped" tone="" icon="clock" entries={stopped} />}
      {stopped.length > 0 && !isAll && (
        <p className="card-foot muted">
          {plural(stopped.length, "job")} stopped running regularly.{" "}
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
