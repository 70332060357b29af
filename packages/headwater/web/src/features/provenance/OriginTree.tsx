import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { Ago } from "../../components/Ago";
import { CodeLink } from "../../components/CodeLink";
import { Copy } from "../../components/Copy";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { RemovalMark } from "../../components/Removal";
import { RunState } from "../../components/RunState";
import { Tags } from "../../components/Tags";
import type { Maker, Member, Origin, Upstream } from "../../graph/provenance";
import { codeText } from "../../graph/repository";
import { addressOf } from "../../graph/view";
import { parts } from "../../graph/words";
import { COMPONENTS } from "../../strings/components";
import { PROVENANCE } from "../../strings/provenance";
import styles from "./provenance.module.css";
import tagStyles from "../../components/tags.module.css";
import controls from "../../components/controls.module.css";
import cards from "../../components/card.module.css";

/** The upstream tree: each dataset, its writers, and their inputs. */
export function OriginTree({ root, at }: { root: Origin; at: string | null }): ReactNode {
  return (
    <section className={clsx(cards.card, styles.origins)} aria-label={PROVENANCE.tree} data-testid="origins">
      <ul>
        <OriginItem origin={root} at={at} />
      </ul>
    </section>
  );
}

function OriginItem({ origin, at }: { origin: Origin; at: string | null }): ReactNode {
  const { members, by, isAbove, kind } = origin;
  const [first] = members;
  const isMany = members.length > 1;
  return (
    <li>
      <div className={styles.origin}>
        <span className={styles.kind}>
          <Icon name={(isMany ? "folder" : kind) as IconName} />
        </span>
        {isMany ? (
          <span className={styles.name}>{origin.title}</span>
        ) : (
          <Link className={clsx(styles.name, "clip")} href={addressOf(first?.id ?? "", { at })} title={PROVENANCE.inGraph(first?.name ?? "")}>
            {origin.title}
          </Link>
        )}
        <span className="muted clip">{origin.where}</span>
        {!isMany && first && <Versions member={first} />}
        {!isMany && first && <RemovalMark removal={first.removal} />}
        <Tags tags={[...new Set(members.flatMap((member) => member.tags))]} />
        {isAbove && <span className="muted">{PROVENANCE.asAbove}</span>}
        {by.length === 0 && !isAbove && <span className={tagStyles.chip}>{PROVENANCE.source(isMany)}</span>}
      </div>
      {isMany && <Members members={members} at={at} />}
      {by.length > 0 && (
        <ul className={styles.makers}>
          {by.map((maker) => (
            <MakerItem key={maker.job} maker={maker} at={at} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Versions({ member: { versions } }: { member: Member }): ReactNode {
  const [newest] = versions;
  if (newest === undefined) return <span className="muted">{PROVENANCE.noVersion}</span>;
  if (versions.length > 1) return <More text={PROVENANCE.versions(versions.length)} items={versions.map((version) => <code key={version} className="wrap">{version}</code>)} />;
  return (
    <span className={styles.version}>
      <code className="clip" title={newest}>
        {newest}
      </code>
      <Copy text={newest} label={PROVENANCE.copyVersion} />
    </span>
  );
}

function Members({ members, at }: { members: readonly Member[]; at: string | null }): ReactNode {
  const items = members.map((member) => (
    <span key={member.id} className={styles.member}>
      <Link className={clsx(controls.link, "wrap")} href={addressOf(member.id, { at })}>
        {parts(member.name, "dataset").title}
      </Link>
      <RemovalMark removal={member.removal} />
      {member.versions.length > 0 && (
        <code className="muted clip" title={member.versions.join("\n")}>
          {member.versions.join(", ")}
        </code>
      )}
    </span>
  ));
  return <More text={PROVENANCE.members(members.length)} items={items} />;
}

function MakerItem({ maker, at }: { maker: Maker; at: string | null }): ReactNode {
  const { job, name, entries, commits, inputs } = maker;
  const newest = entries[0]?.run;
  const runs = entries.flatMap(({ run, ...entry }) => (run ? [<Run key={run.runId} run={run} entry={entry} at={at} />] : []));
  const { title, above } = parts(name, "job");
  return (
    <li>
      <div className={clsx(styles.origin, styles.made)}>
        <span className={styles.kind}>
          <Icon name="task" />
        </span>
        <Link className={clsx(styles.name, "clip")} href={addressOf(job, { at })} title={PROVENANCE.inGraph(name)}>
          {title}
        </Link>
        <span className="muted clip">{above}</span>
        {newest ? (
          <Link className={styles.run} href={addressOf(job, { open: `run:${newest.runId}`, at })} title={newest.runId}>
            <RunState state={newest.state} />
            <span className="muted">
              <Ago at={newest.startedAt} />
            </span>
          </Link>
        ) : (
          <span className="muted">{PROVENANCE.declared}</span>
        )}
        <span className="muted">{commits[0] ? <CodeLink code={commits[0]} /> : PROVENANCE.noCommit}</span>
        {commits.length > 1 && <span className="muted">{PROVENANCE.otherCommits(commits.length - 1)}</span>}
      </div>
      {runs.length > 1 && <More text={PROVENANCE.allRuns(runs.length)} items={runs} />}
      {inputs.length > 0 && (
        <ul className={styles.read}>
          {inputs.map((input) => (
            <OriginItem key={input.key} origin={input} at={at} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Run({ run, entry: { job, code, inputs, outputs }, at }: { run: NonNullable<Upstream["run"]>; entry: Omit<Upstream, "run">; at: string | null }): ReactNode {
  const versionsText = (uses: Upstream["inputs"]) => uses.map((use) => PROVENANCE.read(parts(use.name, "dataset").title, use.versions.join(", "))).join("\n");
  return (
    <span className={styles.member}>
      <Link className={styles.run} href={addressOf(`job:${job.namespace}:${job.name}`, { open: `run:${run.runId}`, at })} title={run.runId}>
        <RunState state={run.state} />
        <span className="muted">
          <Ago at={run.startedAt} />
        </span>
      </Link>
      {codeText(code) && <span className="muted"><CodeLink code={code} /></span>}
      <span className="muted clip" title={PROVENANCE.uses(versionsText(inputs), versionsText(outputs.filter((output) => !output.hasFailed)), versionsText(outputs.filter((output) => output.hasFailed)))}>
        {versionsText(inputs).split("\n")[0]} → {versionsText(outputs).split("\n")[0]}
      </span>
    </span>
  );
}

const FIRST = 50;

/** A collapsed list; long lists show the first items until expanded. */
function More({ text, items }: { text: string; items: readonly ReactNode[] }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const [isAll, setAll] = useState(false);
  return (
    <details className={styles.more} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{text}</summary>
      {isOpen && <div className={styles.list}>{isAll ? items : items.slice(0, FIRST)}</div>}
      {isOpen && !isAll && items.length > FIRST && (
        <button type="button" className={controls.link} onClick={() => setAll(true)}>
          {COMPONENTS.showMore(items.length - FIRST)}
        </button>
      )}
    </details>
  );
}
