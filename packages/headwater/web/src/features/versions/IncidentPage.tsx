import { clsx } from "clsx";
import type { ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Command, Copy } from "../../components/Copy";
import { ErrorMessage } from "../../components/ErrorMessage";
import { Link } from "../../components/Link";
import { AsOf, CommandPart, Sheet } from "../../components/Sheet";
import { Loading } from "../../components/Skeleton";
import { incidentOf, parseIncident } from "../../graph/places";
import { addressOf } from "../../graph/view";
import { nameOf, parts, shellQuoted } from "../../graph/words";
import { useAddress } from "../../navigation/address";
import { INCIDENT } from "../../strings/version";
import { Affected, ByTime, Part, Readers, Unknown, VersionLink, Writers } from "./VersionPage";
import styles from "./versions.module.css";
import controls from "../../components/controls.module.css";
import sheets from "../../components/sheet.module.css";
import states from "../../components/state.module.css";

type IncidentAnswer = Answer<"incident">;

/** The cause of a failed check or bad version, who used the data, and what to run again. */
export default function IncidentPage(): ReactNode {
  const { subject, at } = parseIncident(useAddress().searchParams);
  const answer = useAnswer("incident", { subject, asOf: at });
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  const title = INCIDENT.title(parts(nameOf(data?.versions[0]?.id ?? subject), "dataset").title);
  const command = ["headwater incident", shellQuoted(subject), at && `--as-of ${at}`].filter(Boolean).join(" ");
  return (
    <Sheet icon="alert" kind={INCIDENT.kind} name={title} title={title} about={data?.versions[0]?.namespace} isBusy={isPlaceholderData}>
      <AsOf at={at} now={incidentOf(subject)} />
      {trouble ? (
        <ErrorMessage error={trouble} />
      ) : !data ? (
        <Loading />
      ) : (
        <>
          <Part title={INCIDENT.bad}>
            {data.versions.map((bad) => (
              <BadVersion key={`${bad.id} ${bad.version}`} bad={bad} at={at} />
            ))}
          </Part>
          {data.changes.map((change) => (
            <Change key={`${change.id} ${change.version}`} change={change} at={at} />
          ))}
          <Readers answer={data} at={at} />
          {data.affected.length > 0 && (
            <Part title={INCIDENT.affected(data.affectedCount)} about={INCIDENT.affectedAbout} more={data.affectedCount - data.affected.length}>
              {data.affected.map((node) => (
                <Affected key={node.id} node={node} at={at} />
              ))}
            </Part>
          )}
          <Clean clean={data.clean.filter(({ isProven }) => isProven)} title={INCIDENT.clean} at={at} />
          <Clean clean={data.clean.filter(({ isProven }) => !isProven)} title={INCIDENT.unproven} about={INCIDENT.unprovenAbout} at={at} />
          <section className={sheets.part}>
            <h2>{INCIDENT.rerun}</h2>
            {data.reruns.map(({ job, tool, command: rerun }) =>
              rerun ? <Command key={job.name} text={rerun} /> : <p key={job.name} className="muted wrap">{`${job.name}: ${INCIDENT.noCommand(tool ?? "")}`}</p>,
            )}
          </section>
          <section className={sheets.part}>
            <h2>{INCIDENT.owners}</h2>
            <p className={styles.message}>{data.message}</p>
            <p>
              <Copy text={data.message} label={INCIDENT.copy} isWide />
            </p>
          </section>
          <Unknown gaps={data.unknown} />
          <CommandPart text={command} />
        </>
      )}
    </Sheet>
  );
}

function BadVersion({ bad, at }: { bad: IncidentAnswer["versions"][number]; at: string | null }): ReactNode {
  return (
    <>
      <li className={styles.row}>
        <VersionLink of={{ ...bad, versions: [bad.version] }} at={at} />
        {bad.by === "time" && <ByTime />}
        {bad.checks.length > 0 && <span className={clsx(states.state, states.bad, "wrap")}>{INCIDENT.failed(bad.checks)}</span>}
      </li>
      <Writers writers={bad.writers} at={at} />
    </>
  );
}

function Change({ change, at }: { change: IncidentAnswer["changes"][number]; at: string | null }): ReactNode {
  const { code, inputs } = change;
  return (
    <Part title={INCIDENT.changed(parts(change.name, "dataset").title, change.previous)}>
      {code && (
        <li className={styles.row}>
          <span className="muted">{INCIDENT.code}</span>
          <code className="wrap">{INCIDENT.from(code.before ?? INCIDENT.notReported, code.after ?? INCIDENT.notReported)}</code>
        </li>
      )}
      {inputs.map((input) => (
        <li key={input.id} className={styles.row}>
          <span className="muted">{INCIDENT.input}</span>
          <Link className={clsx(controls.link, "wrap")} href={addressOf(input.id, { at })}>
            {parts(input.name, "dataset").title}
          </Link>
          <code className="wrap">{INCIDENT.from(input.before.join(", ") || INCIDENT.notReported, input.after.join(", ") || INCIDENT.notReported)}</code>
        </li>
      ))}
      {!code && inputs.length === 0 && <li className={styles.row}>{INCIDENT.same}</li>}
    </Part>
  );
}

function Clean({ clean, title, about, at }: { clean: IncidentAnswer["clean"]; title: string; about?: string; at: string | null }): ReactNode {
  if (clean.length === 0) return null;
  return (
    <Part title={title} about={about}>
      {clean.map((dataset) => (
        <li key={dataset.id} className={styles.row}>
          <Link className={clsx(controls.link, "wrap")} href={addressOf(dataset.id, { at })}>
            {parts(dataset.name, "dataset").title}
          </Link>
          <span className="muted">{dataset.namespace}</span>
        </li>
      ))}
    </Part>
  );
}
