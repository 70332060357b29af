import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { IS_STATIC } from "../../api/base";
import { troubleOf, useAnswer, useFindingState } from "../../api/answers";
import { ErrorMessage } from "../../components/ErrorMessage";
import { Icon } from "../../components/Icon";
import { CommandPart, Sheet } from "../../components/Sheet";
import { distinctNames, shellQuoted } from "../../graph/words";
import { go, useAddress } from "../../navigation/address";
import { PROBLEMS } from "../../strings/problems";
import { changed, PROBLEM_FACETS, selectedIn } from "../browse/address";
import { Filters } from "../browse/Filters";
import { DecideMenu, type Decide } from "./Actions";
import { changesOf, ICONS, ProblemRow, type Problem } from "./ProblemRow";
import styles from "./problemsPage.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";
import sheets from "../../components/sheet.module.css";
import states from "../../components/state.module.css";

const AGES = ["hour", "day", "week", "older"] as const;
const KINDS = Object.keys(ICONS) as Problem["kind"][];

/** All problems by cause, with their errors and what was not rebuilt; several can be muted or acknowledged at once. */
export default function ProblemsPage(): ReactNode {
  const address = useAddress();
  const params = address.searchParams;
  const { kind, age, ...selected } = selectedIn(params, PROBLEM_FACETS);
  const isDecided = params.has("decided");
  const answer = useAnswer("problems", { ...selected, kind: KINDS.find((name) => name === kind), age: AGES.find((name) => name === age), decided: isDecided });
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  const isFiltered = PROBLEM_FACETS.some((facet) => params.has(facet));
  return (
    <Sheet icon="alert" kind={PROBLEMS.kind} name={PROBLEMS.title} title={<>{PROBLEMS.title} {data && <span className={clsx("muted", styles.total)}>{data.total.toLocaleString("en")}</span>}</>} isBusy={isPlaceholderData}>
      {trouble && <ErrorMessage error={trouble} />}
      {data && (data.decided > 0 || isDecided) && (
        <div className={clsx(controls.segments, styles.shown)} role="group" aria-label={PROBLEMS.shown}>
          <button type="button" aria-pressed={!isDecided} onClick={() => go(changed(address, { decided: null }))}>
            {PROBLEMS.open}
          </button>
          <button type="button" aria-pressed={isDecided} onClick={() => go(changed(address, { decided: "1" }))}>
            {PROBLEMS.decided} <span className="muted">{data.decided}</span>
          </button>
        </div>
      )}
      {data && <Filters facets={data.facets} names={PROBLEM_FACETS} />}
      {data && !trouble && data.items.length > 0 && <List key={params.toString()} problems={data.items} isDecided={isDecided} />}
      {data && data.uncounted > 0 && <p className={sheets.line} role="status">{PROBLEMS.uncounted(data.uncounted)}</p>}
      {data && data.items.length === 0 && data.uncounted === 0 && <Nothing isFiltered={isFiltered} isDecided={isDecided} />}
      {data?.next && <p className="muted">{PROBLEMS.first(data.items.length)}</p>}
      <CommandPart text={commandOf({ kind, age, ...selected })} />
    </Sheet>
  );
}

function commandOf(selected: Partial<Record<string, string>>): string {
  const options = Object.entries(selected).filter(([, value]) => value !== undefined);
  return ["headwater problems", ...options.map(([name, value]) => `--${name} ${shellQuoted(value ?? "")}`)].join(" ");
}

function Nothing({ isFiltered, isDecided }: { isFiltered: boolean; isDecided: boolean }): ReactNode {
  if (isFiltered || isDecided) return <p className={sheets.line}>{isFiltered ? PROBLEMS.nothing : PROBLEMS.noneDecided}</p>;
  return (
    <p className={clsx(states.state, states.good)}>
      <Icon name="done" /> {PROBLEMS.none}
    </p>
  );
}

/** Problems with a selection, whose state can be changed at once. */
function List({ problems, isDecided }: { problems: readonly Problem[]; isDecided: boolean }): ReactNode {
  const { mutate, error } = useFindingState();
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const selected = problems.filter(({ id }) => marked.has(id));
  const isAll = selected.length === problems.length;
  const titles = distinctNames(problems.map(({ cause }) => cause));
  const decideOn = (chosen: readonly Problem[]): Decide => (change) => {
    mutate(changesOf(chosen, change));
    setMarked(new Set());
  };
  const mark = (id: string, isMarked: boolean) => setMarked(new Set(isMarked ? [...marked, id] : [...marked].filter((other) => other !== id)));
  return (
    <>
      {error && <ErrorMessage error={error} />}
      {!IS_STATIC && (
        <div className={styles.bulk}>
          <label className={styles.all}>
            <input type="checkbox" checked={isAll} onChange={() => setMarked(new Set(isAll ? [] : problems.map(({ id }) => id)))} />
            {PROBLEMS.selectAll(problems.length)}
          </label>
          {selected.length > 0 &&
            (isDecided ? (
              <button type="button" className={controls.button} onClick={() => decideOn(selected)({ state: "open" })}>
                {PROBLEMS.reopen(selected.length)}
              </button>
            ) : (
              <DecideMenu text={PROBLEMS.selected(selected.length)} decide={decideOn(selected)} />
            ))}
        </div>
      )}
      <ul className={clsx(cards.card, styles.list)} aria-label={PROBLEMS.list}>
        {problems.map((problem) => (
          <ProblemRow key={problem.id} problem={problem} title={titles.get(problem.cause.id) ?? problem.cause.name} isMarked={marked.has(problem.id)} mark={mark} decide={decideOn([problem])} />
        ))}
      </ul>
    </>
  );
}
