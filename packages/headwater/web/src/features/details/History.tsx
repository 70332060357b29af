import { clsx } from "clsx";
import type { ReactNode } from "react";
import { PROGRAM } from "../../api/base";
import { useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { openColumn } from "../../graph/lit";
import { versionOf } from "../../graph/places";
import { formatView, type View } from "../../graph/view";
import { plural, taskName } from "../../graph/words";
import { checkMatrix, rowsTrend } from "../../graph/trends";
import { ColumnDescription } from "./About";
import { Assertion } from "./Assertion";
import type { NodeAnswer } from "./props";
import { Matrix, RowsChart } from "./Trends";
import { DETAILS } from "../../strings/details";
import controls from "../../components/controls.module.css";
import details from "./details.module.css";
import states from "../../components/state.module.css";
import { Loading } from "../../components/Skeleton";

type Entry = Answer<"history">["items"][number];
const SHOWN = 200;

/** Return the entries of some kinds from a node's history; null while loading. */
function useHistory<Done extends Entry["done"]>(node: string, at: string | null, ...done: Done[]): { entries: Extract<Entry, { done: Done }>[]; isMore: boolean } | null {
  const { data } = useAnswer("history", { node, asOf: at, limit: SHOWN });
  const isOfKind = (entry: Entry): entry is Extract<Entry, { done: Done }> => (done as string[]).includes(entry.done);
  return data ? { entries: data.items.filter(isOfKind), isMore: data.next !== null } : null;
}

/** A link to the run of an entry. */
function EntryRun({ runId, job, view }: { runId: string; job: string; view: View }): ReactNode {
  return (
    <Link className={clsx(controls.link, "clip")} href={formatView({ ...view, open: `run:${runId}`, tab: null })} title={`${job}\n${runId}`}>
      {taskName(job)}
    </Link>
  );
}

function Older(): ReactNode {
  return <p className="muted">{DETAILS.older(SHOWN, PROGRAM)}</p>;
}

/** The columns and their changes. */
export function Schema({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const drift = useHistory(node.id, view.at, "schema");
  return (
    <>
      {node.fields.length === 0 && <p className="muted">{DETAILS.noColumns}</p>}
      <table className={details.table}>
        <caption className="hidden">{DETAILS.columns}</caption>
        <tbody>
          {node.fields.map((field) => (
            <tr key={field.name}>
              <td>
                <Link className={controls.link} href={formatView({ ...view, open: openColumn(node.id, field.name), tab: null })}>
                  <code className="wrap">{field.name}</code>
                </Link>
                <ColumnDescription column={field} />
              </td>
              <td className="muted">
                <code>{field.type}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {drift && drift.entries.length > 0 && <h3>{DETAILS.changes}</h3>}
      <ul className={details.entries}>
        {drift?.entries.map((entry) => (
          <li key={`${entry.at} ${entry.runId ?? ""}`}>
            <span className={clsx(details.entryLine, "muted")}>
              <Ago at={entry.at} />
              {entry.runId && entry.job && <EntryRun runId={entry.runId} job={entry.job.name} view={view} />}
            </span>
            {entry.added.map((field) => (
              <code key={`+${field.name}`}>
                {DETAILS.added(field.name, field.type)}
              </code>
            ))}
            {entry.removed.map((field) => (
              <code key={`-${field.name}`}>
                {DETAILS.removed(field.name, field.type)}
              </code>
            ))}
            {entry.changed.map((field) => (
              <code key={`~${field.name}`}>
                {DETAILS.changed(field.name, field.from, field.to)}
              </code>
            ))}
          </li>
        ))}
      </ul>
      {drift?.isMore && <Older />}
    </>
  );
}

/** All versions with the runs that wrote them, and the runs that failed to. */
export function Versions({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const written = useHistory(node.id, view.at, "wrote", "failed");
  if (!written) return <Loading />;
  if (written.entries.length === 0) return <p className="muted">{DETAILS.noWriters}</p>;
  const trend = rowsTrend(written.entries.filter((entry) => entry.done === "wrote"));
  return (
    <>
      {trend && <RowsChart trend={trend} view={view} />}
      <ul className={details.entries}>
        {written.entries.map((entry) => (
          <li key={`${entry.done} ${entry.at} ${entry.run.runId}`}>
            <span className={details.entryLine}>
              {entry.done === "wrote" ? (
                <Link className={clsx(controls.link, "clip")} href={versionOf(`${node.id}@${entry.version ?? ""}`, view.at)} title={DETAILS.showVersion(entry.version ?? "")}>
                  <code>{entry.version}</code>
                </Link>
              ) : (
                <span className={clsx(states.state, states.bad)}>
                  <Icon name="fail" />
                  {DETAILS.failedToWrite}
                </span>
              )}
              <Ago at={entry.at} />
            </span>
            <span className={clsx(details.entryLine, "muted")}>
              {entry.done === "wrote" && entry.rows !== null && <span className={details.whole}>{plural(entry.rows, "row")}</span>}
              <EntryRun runId={entry.run.runId} job={entry.run.job.name} view={view} />
            </span>
          </li>
        ))}
      </ul>
      {written.isMore && <Older />}
    </>
  );
}

/** The results of checks over time. */
export function Quality({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const checked = useHistory(node.id, view.at, "checked");
  if (!checked) return <Loading />;
  if (checked.entries.length === 0) return <p className="muted">{DETAILS.noChecks}</p>;
  const matrix = checkMatrix(checked.entries);
  return (
    <>
      {matrix && <Matrix matrix={matrix} />}
      <ul className={details.entries}>
        {checked.entries.map((entry) => (
          <li key={`${entry.at} ${entry.run?.runId ?? ""}`}>
            <span className={details.entryLine}>
              <Ago at={entry.at} />
              {entry.run && <EntryRun runId={entry.run.runId} job={entry.run.job.name} view={view} />}
            </span>
            {entry.assertions.map((assertion, place) => (
              <Assertion key={place} assertion={assertion} />
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}
