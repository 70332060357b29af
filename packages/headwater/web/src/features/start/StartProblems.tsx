import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer, useFindingState } from "../../api/answers";
import { ONE_FILE } from "../../api/base";
import { ErrorMessage } from "../../components/ErrorMessage";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { distinctNames } from "../../graph/words";
import { changesOf, ProblemRow } from "../problems/ProblemRow";
import { PROBLEMS } from "../../strings/problems";
import { START } from "../../strings/start";
import problems from "../problems/problemsPage.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";
import states from "../../components/state.module.css";

const FIRST = 5;

/** The first open problems by cause, as on the page of all problems. */
export function StartProblems(): ReactNode {
  const { data } = useAnswer("problems", {});
  const { mutate, error } = useFindingState();
  if (!data) return null;
  const { total, decided } = data;
  const shown = ONE_FILE ? data.items : data.items.slice(0, FIRST);
  const titles = distinctNames(shown.map(({ cause }) => cause));
  return (
    <section className={cards.card} aria-labelledby="problems">
      <h2 id="problems">
        {START.problems} {total > 0 && <span className="muted">{total.toLocaleString("en")}</span>}
      </h2>
      {error && <ErrorMessage error={error} />}
      {data.uncounted > 0 && <p className={clsx("muted", cards.cardFoot)}>{PROBLEMS.uncounted(data.uncounted)}</p>}
      {total === 0 && data.uncounted === 0 && (
        <p className={clsx(states.state, states.good, cards.cardFoot)}>
          <Icon name="done" /> {decided > 0 ? START.noneOpen : START.allGood}
        </p>
      )}
      <ul className={problems.list}>
        {shown.map((problem) => (
          <ProblemRow key={problem.id} problem={problem} title={titles.get(problem.cause.id) ?? problem.cause.name} decide={(change) => mutate(changesOf([problem], change))} />
        ))}
      </ul>
      {!ONE_FILE && total + decided > 0 && (
        <p className={cards.cardFoot}>
          <Link className={controls.link} href="/problems">
            {START.allProblems(total)}
          </Link>
          {decided > 0 && (
            <>
              {" · "}
              <Link className={controls.link} href="/problems?decided=1">
                {START.decided(decided)}
              </Link>
            </>
          )}
        </p>
      )}
    </section>
  );
}
