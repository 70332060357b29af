import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { formatView, type View } from "../../graph/view";
import { duration, nameOf, parts } from "../../graph/words";
import { LATENESS } from "../../strings/details";
import details from "./details.module.css";
import controls from "../../components/controls.module.css";
import states from "../../components/state.module.css";

type Reason = Answer<"lateness">["reasons"][number];

const LOOKS: Record<string, readonly [string, IconName]> = {
  failed: ["bad", "fail"],
  lost: ["warn", "lost"],
  running: ["run", "run"],
  late: ["warn", "clock"],
};

/** The due time of a late node and the upstream causes; nothing if it is on time. */
export function Lateness({ id, view }: { id: string; view: View }): ReactNode {
  const { data } = useAnswer("lateness", { node: id, asOf: view.at });
  if (data?.node !== id || (!data.lateSeconds && data.reasons.length === 0)) return null;
  const isLate = data.isLate || data.isStopped;
  return (
    <section className={clsx(details.lateness, isLate && details.late)} aria-label={LATENESS.label}>
      <h3>{data.reasons.some(({ subject }) => subject !== id) || !data.reasons.length ? (isLate ? LATENESS.causes : LATENESS.possible) : LATENESS.own}</h3>
      {data.everySeconds !== null && (data.lateSeconds ?? 0) > 0 && (
        <p>
          {LATENESS.due}
          <Ago at={data.dueAt} />
          {LATENESS.every(duration(data.everySeconds * 1_000), data.isStopped)}
        </p>
      )}
      <ul className={details.entries}>
        {data.reasons.map((reason) => (
          <li key={`${reason.kind} ${reason.subject}`}>
            <ReasonLink reason={reason} view={view} />
            {reason.kind === "failed" && (
              <span className="muted wrap">
                {reason.message.replace(/^failed: /, "")}
              </span>
            )}
          </li>
        ))}
      </ul>
      {data.reasons.length === 0 && <p>{LATENESS.healthy}</p>}
    </section>
  );
}

function ReasonLink({ reason, view }: { reason: Reason; view: View }): ReactNode {
  const [tone, icon] = LOOKS[reason.kind] ?? ["", "lost"];
  const open = reason.kind === "late" ? reason.subject : `run:${reason.runId}`;
  return (
    <Link className={details.entryLine} href={formatView({ ...view, open, tab: null })} title={nameOf(reason.subject)}>
      <span className={clsx(states.state, states[tone])}>
        <Icon name={icon} />
      </span>
      <span>
        <span className={controls.link}>{parts(nameOf(reason.subject), "job").title}</span> {LATENESS.reasons[reason.kind] ?? reason.kind} <Ago at={reason.at} />
      </span>
    </Link>
  );
}
