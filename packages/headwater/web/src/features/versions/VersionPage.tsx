import { clsx } from "clsx";
import { useId, type ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { CodeLink } from "../../components/CodeLink";
import { Copy } from "../../components/Copy";
import { ErrorMessage } from "../../components/ErrorMessage";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { RunState } from "../../components/RunState";
import { AsOf, CommandPart, Sheet } from "../../components/Sheet";
import { Loading } from "../../components/Skeleton";
import { incidentOf, parseVersion, provenanceOf, versionOf } from "../../graph/places";
import { addressOf } from "../../graph/view";
import { parts, shellQuoted } from "../../graph/words";
import { useAddress } from "../../navigation/address";
import { COMPONENTS } from "../../strings/components";
import { PROVENANCE } from "../../strings/provenance";
import { VERSION } from "../../strings/version";
import styles from "./versions.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";
import sheets from "../../components/sheet.module.css";
import states from "../../components/state.module.css";
import tags from "../../components/tags.module.css";

type VersionAnswer = Answer<"version">;
type RunLine = VersionAnswer["readers"][number]["run"];

/** The writers and readers of a version of a dataset, and what contains its data. */
export default function VersionPage(): ReactNode {
  const { version, at } = parseVersion(useAddress().searchParams);
  const answer = useAnswer("version", { version, asOf: at });
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  const title = VERSION.title(data ? parts(data.name, "dataset").title : version);
  const command = ["headwater version", shellQuoted(data ? `${data.id}@${data.version}` : version), at && `--as-of ${at}`].filter(Boolean).join(" ");
  return (
    <Sheet
      icon="clock"
      kind={VERSION.kind}
      name={title}
      title={title}
      about={data?.namespace}
      isBusy={isPlaceholderData}
      actions={
        data && (
          <>
            <Link className={controls.button} href={addressOf(data.id, { at })}>
              <Icon name="pipeline" /> {COMPONENTS.graph}
            </Link>
            <Link className={controls.button} href={provenanceOf(data.id, { version: data.version, at })}>
              <Icon name="origin" /> {COMPONENTS.provenance}
            </Link>
            <Link className={controls.button} href={incidentOf(`${data.id}@${data.version}`, at)}>
              <Icon name="alert" /> {VERSION.incident}
            </Link>
          </>
        )
      }
    >
      <AsOf at={at} now={versionOf(version)} />
      {trouble ? (
        <ErrorMessage error={trouble} />
      ) : !data ? (
        <Loading />
      ) : (
        <>
          <p className={sheets.line}>
            <code className="wrap">{data.version}</code>
            <Copy text={data.version} label={PROVENANCE.copyVersion} />
          </p>
          {data.taint && (
            <p className={clsx(states.state, states.bad, "wrap")} role="note" aria-label={VERSION.recalled}>
              <Icon name="alert" />
              {VERSION.recalledFor(data.taint.reason)}
              <Ago at={data.taint.at} />
            </p>
          )}
          <Part title={VERSION.writtenBy}>
            <Writers writers={data.writers} at={at} />
          </Part>
          <Readers answer={data} at={at} />
          {data.affected.length > 0 && (
            <Part title={VERSION.affected(data.affectedCount)} more={data.affectedCount - data.affected.length}>
              {data.affected.map((node) => (
                <Affected key={node.id} node={node} at={at} />
              ))}
            </Part>
          )}
          <Unknown gaps={data.unknown} />
          <CommandPart text={command} />
        </>
      )}
    </Sheet>
  );
}

/** The runs that wrote a version, with what they read. */
export function Writers({ writers, at }: { writers: VersionAnswer["writers"]; at: string | null }): ReactNode {
  if (writers.length === 0) return <li className={styles.row}>{VERSION.noWriter}</li>;
  return writers.map(({ run, code, inputs }) => (
    <li key={run.runId} className={styles.row}>
      <Run run={run} at={at} />
      <span className="muted">{Object.keys(code).length > 0 ? <CodeLink code={code} /> : PROVENANCE.noCommit}</span>
      {inputs.map((input) => (
        <span key={input.id} className={clsx("muted", styles.wrote)}>
          {VERSION.inputs} <VersionLink of={input} at={at} />
          {input.by === "time" && <ByTime />}
        </span>
      ))}
    </li>
  ));
}

/** The runs that read a version. */
export function Readers({ answer, at }: { answer: Pick<VersionAnswer, "readerCount" | "readers">; at: string | null }): ReactNode {
  return (
    <Part title={VERSION.readBy(answer.readerCount)} more={answer.readerCount - answer.readers.length}>
      {answer.readers.length === 0 && <li className={styles.row}>{VERSION.noReader}</li>}
      {answer.readers.map((reader) => (
        <li key={`${reader.run.job.name} ${reader.run.runId}`} className={styles.row}>
          <Run run={reader.run} at={at} />
          {reader.by === "time" && <ByTime />}
          {reader.outputs.length > 0 && (
            <span className={clsx("muted", styles.wrote)}>
              {VERSION.wrote}
              {reader.outputs.map((output) => (
                <VersionLink key={output.id} of={output} at={at} />
              ))}
            </span>
          )}
        </li>
      ))}
    </Part>
  );
}

/** A dataset with its versions; a single version is a link to it. */
export function VersionLink({ of, at }: { of: { id: string; name: string; versions: readonly string[] }; at: string | null }): ReactNode {
  const text = VERSION.versionOf(parts(of.name, "dataset").title, of.versions.join(", "));
  const [only] = of.versions;
  const href = of.versions.length === 1 && only ? versionOf(`${of.id}@${only}`, at) : addressOf(of.id, { at });
  return (
    <Link className={clsx(controls.link, "wrap")} href={href}>
      {text}
    </Link>
  );
}

function Run({ run, at }: { run: RunLine; at: string | null }): ReactNode {
  const { title, above } = parts(run.job.name, "job");
  return (
    <Link className={styles.run} href={addressOf(`job:${run.job.namespace}:${run.job.name}`, { open: `run:${run.runId}`, at })} title={run.runId}>
      <RunState state={run.state} />
      <span className={clsx(styles.name, "wrap")}>
        {title} <span className="muted">{above}</span>
      </span>
      <span className="muted">
        <Ago at={run.startedAt} />
      </span>
    </Link>
  );
}

export function Affected({ node, at }: { node: VersionAnswer["affected"][number]; at: string | null }): ReactNode {
  const { title, above } = parts(node.name, node.type);
  const [newest] = node.versions;
  return (
    <li className={styles.row}>
      <Link className={styles.run} href={addressOf(node.id, { at })}>
        <Icon name={(node.type === "job" ? "task" : node.kind) as IconName} />
        <span className={clsx(styles.name, "wrap")}>
          {title} <span className="muted">{above || node.namespace}</span>
        </span>
      </Link>
      <span className="muted">{node.versionCount > 0 ? VERSION.versions(node.versionCount) : VERSION.runs(node.runCount)}</span>
      {newest && (
        <Link className={clsx(controls.link, "wrap")} href={versionOf(`${node.id}@${newest}`, at)}>
          <code>{newest}</code>
        </Link>
      )}
      {node.isCurrent && <span className={tags.ways}>{VERSION.current}</span>}
      {node.by === "time" && <ByTime />}
      <span className="muted">{node.owners.join(", ")}</span>
    </li>
  );
}

export function ByTime(): ReactNode {
  return (
    <span className={tags.chip} title={VERSION.byTimeAbout}>
      {VERSION.byTime}
    </span>
  );
}

/** A card with a heading and rows. */
export function Part({ title, about, more = 0, children }: { title: string; about?: string | undefined; more?: number; children: ReactNode }): ReactNode {
  const id = useId();
  return (
    <section className={cards.card} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {about && <p className={clsx("muted", styles.about)}>{about}</p>}
      <ul>{children}</ul>
      {more > 0 && <p className={clsx(cards.cardFoot, "muted")}>{VERSION.more(more)}</p>}
    </section>
  );
}

/** The reasons why an answer may be incomplete. */
export function Unknown({ gaps }: { gaps: VersionAnswer["unknown"] }): ReactNode {
  const id = useId();
  return (
    <section className={sheets.part} aria-labelledby={id}>
      <h2 id={id}>{VERSION.unknown}</h2>
      {gaps.length === 0 && <p className="muted">{VERSION.complete}</p>}
      <ul className={styles.unknown}>
        {gaps.map((gap) => (
          <li key={gap.kind}>
            {gap.message}
            {gap.jobs.length > 0 && <span className="muted wrap">{`: ${gap.jobs.map((job) => job.name).join(", ")}`}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
