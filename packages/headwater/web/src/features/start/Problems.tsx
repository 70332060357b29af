import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { useAnswer, useFindingState } from "../../api/answers";
import { IS_STATIC, ONE_FILE } from "../../api/base";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { useNow } from "../../components/now";
import { ErrorMessage } from "../../components/ErrorMessage";
import { addressOf } from "../../graph/view";
import { nameOf, parts, plural, withAges } from "../../graph/words";
import { Actions, stateOf, type Decide } from "../problems/Actions";
import { START } from "../../strings/start";
import styles from "./problems.module.css";
import cards from "../../components/card.module.css";
import states from "../../components/state.module.css";
import controls from "../../components/controls.module.css";

type Finding = Answer<"findings">["items"][number];

const GROUPS: readonly (readonly ["failed" | "late" | "quality" | "lost" | "branches", string, IconName])[] = [
  ["failed", "bad", "fail"],
  ["late", "warn", "clock"],
  ["quality", "bad", "alert"],
  ["lost", "warn", "lost"],
  ["branches", "warn", "alert"],
];
const FIRST = 5;
/** Start of a message that repeats the group's title. */
const IN_TITLE = /^(is late|has stopped): /;

/** Failed, late and stale runs, failed checks, and jobs of several branches; each can be muted or acknowledged. */
export function Problems({ isHealthy }: { isHealthy: boolean }): ReactNode {
  const { data } = useAnswer("findings", {});
  const { mutate, error } = useFindingState();
  const decide = (finding: Finding): Decide => (change) => mutate([{ subject: finding.subject, kind: finding.kind, ...change }]);
  const findings = data?.items ?? [];
  const open = findings.filter((finding) => finding.state === "open");
  const decided = findings.filter((finding) => finding.state !== "open");
  const stopped = open.filter((finding) => finding.kind === "stopped");
  return (
    <div className={styles.wrong} id="problems">
      {error && <ErrorMessage error={error} />}
      {isHealthy && !open.some((finding) => finding.kind === "failed") && (
        <section className={cards.card}>
          <p className={clsx(states.state, states.good, styles.allGood)}>
            <Icon name="done" /> {decided.length > 0 ? START.noneOpen : START.allGood}
          </p>
        </section>
      )}
      {GROUPS.map(([kind, tone, icon]) => (
        <Group key={kind} title={START.groups[kind]} tone={tone} icon={icon} findings={open.filter((finding) => finding.kind === kind)} decide={decide} />
      ))}
      {open.length > 0 && !ONE_FILE && (
        <p className={cards.cardFoot}>
          <Link className={controls.link} href="/problems">
            {START.allProblems}
          </Link>
        </p>
      )}
      <CollapsedGroup text={START.stopped(plural(stopped.length, "job"))} title={START.groups.stopped} findings={stopped} decide={decide} />
      <CollapsedGroup text={START.decided(decided.length)} title={START.groups.decided} findings={decided} decide={decide} />
    </div>
  );
}

/** A collapsed group that shows its size. */
function CollapsedGroup({ text, title, findings, decide }: { text: string; title: string; findings: Finding[]; decide: (finding: Finding) => Decide }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  if (findings.length === 0) return null;
  if (isOpen) return <Group title={title} tone="" icon="clock" findings={findings} decide={decide} />;
  return (
    <p className={clsx(cards.cardFoot, "muted")}>
      {text}{" "}
      <button type="button" className={controls.link} onClick={() => setOpen(true)}>
        {START.show}
      </button>
    </p>
  );
}

function Group({ title, tone, icon, findings, decide }: { title: string; tone: string; icon: IconName; findings: Finding[]; decide: (finding: Finding) => Decide }): ReactNode {
  const [isAll, setAll] = useState(false);
  if (findings.length === 0) return null;
  return (
    <section className={cards.card} aria-label={title}>
      <h2>
        {title} <span className="muted">{findings.length}</span>
      </h2>
      <ul className={cards.rows}>
        {(isAll ? findings : findings.slice(0, FIRST)).map((finding) => (
          <Row key={`${finding.kind} ${finding.subject}`} finding={finding} tone={tone} icon={icon} decide={decide} />
        ))}
      </ul>
      {!isAll && findings.length > FIRST && (
        <p className={cards.cardFoot}>
          <button type="button" className={controls.link} onClick={() => setAll(true)}>
            {START.more(findings.length - FIRST)}
          </button>
        </p>
      )}
    </section>
  );
}

/** A finding with a link to its cause: the lowest failed run, or the failed checks. */
function Row({ finding, tone, icon, decide }: { finding: Finding; tone: string; icon: IconName; decide: (finding: Finding) => Decide }): ReactNode {
  const now = useNow();
  const cause = finding.causes?.[0] ?? finding;
  const isRun = finding.kind === "failed" || finding.kind === "lost";
  const open = isRun && cause.runId ? `run:${cause.runId}` : cause.subject;
  const name = nameOf(finding.subject);
  const where = cause === finding ? "" : `${parts(nameOf(cause.subject), "job").title} `;
  const about = finding.state === "open" ? where + withAges(cause.message.replace(IN_TITLE, ""), now) : stateOf(finding);
  return (
    <li className={styles["row"]}>
      <Link href={addressOf(cause.subject, { open, tab: finding.kind === "quality" ? "quality" : null })} className={cards.row}>
        <span className={clsx(states.state, states[tone])}>
          <Icon name={icon} />
        </span>
        <span className={cards.rowText}>
          <span className={clsx(cards.rowName, "clip")} title={name}>
            {name}
          </span>
          <span className={clsx("muted", styles.about)} title={finding.state === "open" ? where + cause.message : about}>
            {about}
          </span>
        </span>
        <span className={clsx(cards.rowNumber, "muted", styles.number)}>
          <Ago at={finding.at} />
        </span>
      </Link>
      {!IS_STATIC && <Actions finding={finding} name={name} decide={decide(finding)} />}
    </li>
  );
}
