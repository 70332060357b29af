import { clsx } from "clsx";
import type { ReactNode } from "react";
import { IS_STATIC, PROGRAM } from "../../api/base";
import { troubleOf, useAlias, useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { ErrorMessage } from "../../components/ErrorMessage";
import { Link } from "../../components/Link";
import { CommandPart, Sheet } from "../../components/Sheet";
import { parts } from "../../graph/words";
import { addressOf } from "../../graph/view";
import { useAddress } from "../../navigation/address";
import { BROWSE } from "../../strings/browse";
import { cursorsIn } from "./address";
import { Parts } from "./Freshness";
import { PAGE, Pages } from "./Listing";
import styles from "./browse.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";
import sheets from "../../components/sheet.module.css";

type Pair = Answer<"aliases/suggested">["items"][number];
type Name = Pair["read"];
type Stated = Answer<"aliases">["items"][number];
type Alias = Parameters<ReturnType<typeof useAlias>["mutate"]>[0];

const { names: NAMES } = BROWSE;
const COMMAND = `${PROGRAM} alias --suggest`;

/** The pairs of names that may be one dataset, with buttons that join or separate them. */
export function NamesList(): ReactNode {
  const params = useAddress().searchParams;
  const answer = useAnswer("aliases/suggested", { limit: PAGE, cursor: cursorsIn(params).at(-1) ?? null });
  const { mutate, error, variables, isSuccess, isPending } = useAlias();
  const trouble = troubleOf(answer) ?? error;
  const { data, isPlaceholderData } = answer;
  const stated = isSuccess && !variables.isRemoved ? variables : null;
  const change = IS_STATIC || isPending ? null : mutate;
  return (
    <Sheet icon="table" kind={BROWSE.kind} name={NAMES.title} title={BROWSE.datasets} isBusy={isPlaceholderData}>
      {trouble && <ErrorMessage error={trouble} />}
      <Parts part="names" />
      <p className="muted">{NAMES.about}</p>
      {stated && (
        <p role="status">
          {(stated.isSeparate ? NAMES.separated : NAMES.joined)(nameIn(stated.one), nameIn(stated.other))}{" "}
          <button type="button" className={controls.button} disabled={isPending} onClick={() => mutate({ ...stated, isSeparate: false, isRemoved: true })}>
            {NAMES.undo}
          </button>
        </p>
      )}
      {data && data.items.length === 0 && <p className={sheets.line}>{NAMES.none}</p>}
      {data && data.items.length > 0 && (
        <>
          <ul className={clsx(cards.card, styles.list, styles.names)} aria-label={NAMES.title}>
            {data.items.map((pair) => (
              <Row key={`${pair.written.id} ${pair.read.id}`} pair={pair} change={change} />
            ))}
          </ul>
          <Pages answer={data} isCurrent={!isPlaceholderData} />
        </>
      )}
      <StatedPart change={change} />
      <CommandPart text={COMMAND} />
    </Sheet>
  );
}

/** The names that users joined or separated, and rules, with buttons that remove them. */
function StatedPart({ change }: { change: ((alias: Alias) => void) | null }): ReactNode {
  const { data } = useAnswer("aliases", { limit: PAGE });
  if (!data || data.items.length === 0) return null;
  return (
    <section>
      <h2>{NAMES.stated}</h2>
      <ul className={clsx(cards.card, styles.list, styles.names)} aria-label={NAMES.stated}>
        {data.items.map((stated) => (
          <StatedRow key={JSON.stringify([stated.one, stated.other])} stated={stated} change={change} />
        ))}
      </ul>
    </section>
  );
}

function StatedRow({ stated: { one, other, isRule, isSeparate, pairCount }, change }: { stated: Stated; change: ((alias: Alias) => void) | null }): ReactNode {
  const [first, second] = [one, other].map(({ namespace, name }) => `dataset:${namespace}:${name}`) as [string, string];
  return (
    <li>
      <span className={styles.node}>{nameIn(first)}</span>
      <span className={styles.node}>{nameIn(second)}</span>
      <span>{isRule ? NAMES.rule(pairCount) : isSeparate ? NAMES.different : NAMES.same}</span>
      <button type="button" className={controls.button} disabled={change === null} aria-label={NAMES.removeOf(one.name, other.name)} onClick={() => change?.({ one: first, other: second, isRule, isSeparate, isRemoved: true })}>
        {NAMES.remove}
      </button>
    </li>
  );
}

function Row({ pair: { written, read, score, evidence, otherCount }, change }: { pair: Pair; change: ((alias: Alias) => void) | null }): ReactNode {
  const names = { one: written.id, other: read.id };
  return (
    <li>
      <NameLink name={written} />
      <NameLink name={read} />
      <span>
        {NAMES.score(score)}
        <span className={styles.path}> {[...evidence.map(({ message }) => message), ...(otherCount ? [NAMES.others(otherCount)] : [])].join("; ")}</span>
      </span>
      <span className={styles.buttons}>
        <button type="button" className={controls.button} disabled={change === null} aria-label={NAMES.joinOf(written.name, read.name)} onClick={() => change?.(names)}>
          {NAMES.join}
        </button>
        <button type="button" className={controls.button} disabled={change === null} aria-label={NAMES.separateOf(written.name, read.name)} onClick={() => change?.({ ...names, isSeparate: true })}>
          {NAMES.separate}
        </button>
      </span>
    </li>
  );
}

function NameLink({ name: { id, namespace, name } }: { name: Name }): ReactNode {
  return (
    <Link className={styles.node} href={addressOf(id)}>
      <span className="clip">{parts(name, "dataset").title}</span>
      <span className={styles.path}>
        {namespace} {name}
      </span>
    </Link>
  );
}

/** Return an id without its type. */
function nameIn(id: string): string {
  return id.slice("dataset:".length);
}
