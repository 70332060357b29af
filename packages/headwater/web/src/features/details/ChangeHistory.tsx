import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Command } from "../../components/Copy";
import { Link } from "../../components/Link";
import { Skeleton } from "../../components/Skeleton";
import { sentence } from "../../graph/timeline";
import type { JobKind, Level } from "../../graph/types";
import { formatView, type View } from "../../graph/view";
import { moment, shellQuoted } from "../../graph/words";
import type { NodeAnswer } from "./props";
import { COMPONENTS } from "../../strings/components";
import { DETAILS } from "../../strings/details";
import details from "./details.module.css";
import controls from "../../components/controls.module.css";

/** Return the level at which a job has edges. */
function levelOf(kind: JobKind): Level {
  if (kind === "job") return "query";
  return kind === "exposure" ? "task" : kind;
}

/** The history of a node: changes of edges, schema and code, and failures. */
export function ChangeHistory({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const isJob = node.type === "job";
  const steps = isJob ? 0 : 1;
  const level = isJob ? levelOf(node.kind as JobKind) : view.level;
  const { data } = useAnswer("timeline", { node: node.id, up: steps, down: steps, level, to: view.at, parts: 1 });
  if (!data) return <Skeleton />;
  const changes = data.changes.filter((change) => change.node === node.id || change.other === node.id);
  return (
    <>
      {view.at && <p className="muted">{DETAILS.upTo(moment(view.at))}</p>}
      {changes.length === 0 && <p className="muted">{DETAILS.noChanges}</p>}
      <ul className={details.entries}>
        {changes.map((change) => (
          <li key={JSON.stringify([change.at, change.kind, change.node, change.other, change.detail])}>
            <span className="muted">{moment(change.at)}</span>
            <span className="wrap">{sentence(change, data.nodes)}</span>
            <span className={details.entryLinks}>
              <Link className={controls.link} href={formatView({ ...view, from: change.before, at: change.at })}>
                {DETAILS.beforeAndAfter}
              </Link>
              {change.runId && (
                <Link className={controls.link} href={formatView({ ...view, open: `run:${change.runId}`, tab: null })}>
                  {DETAILS.run}
                </Link>
              )}
            </span>
          </li>
        ))}
      </ul>
      {data.isMore && <p className="muted">{DETAILS.omitted}</p>}
      <h3>{COMPONENTS.commandLine}</h3>
      <Command text={`headwater timeline ${shellQuoted(node.id)} --up ${steps} --down ${steps} --level ${level}${data.isMore ? " --limit 1000" : ""}`} />
    </>
  );
}
