import { clsx } from "clsx";
import { useMemo, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { HealthLabel } from "../../components/HealthState";
import { Link } from "../../components/Link";
import { PlatformIcon } from "../../components/PlatformIcon";
import { labelOfState, RunState } from "../../components/RunState";
import { mapOf } from "../../graph/pipelines";
import { addressOf } from "../../graph/view";
import { distinctNames, moment } from "../../graph/words";
import { START } from "../../strings/start";
import styles from "./pipelines.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";

type Pipeline = Answer<"pipelines">["items"][number];

function titlesOf(pipelines: readonly Pipeline[]): Map<string, string> {
  return distinctNames(pipelines.map((pipeline) => ({ ...pipeline, type: "job" })));
}

/** The pipelines from left to right with their states, and below them those without connections. */
export function Pipelines(): ReactNode {
  const { data } = useAnswer("pipelines", {});
  const items = useMemo(() => data?.items ?? [], [data]);
  const { boxes, lines, width, height, others } = useMemo(() => mapOf(items), [items]);
  const titles = titlesOf(items);
  const box = (pipeline: Pipeline, style?: object) => (
    <Link key={pipeline.id} className={clsx(cards.state, styles.box)} href={addressOf(pipeline.id, { level: "pipeline" })} data-state={pipeline.health.state} title={pipeline.name} {...(style && { style })}>
      <span className={styles.title}>
        <PlatformIcon node={{ ...pipeline, kind: "pipeline" }} />
        <span className={clsx(styles.name, "clip")}>{titles.get(pipeline.id)}</span>
      </span>
      <HealthLabel health={pipeline.health} />
    </Link>
  );
  return (
    <section className={cards.card} aria-labelledby="pipelines">
      <h2 id="pipelines">
        {START.pipelines} <span className="muted">{data && (data.total > items.length ? START.of(items.length, data.total) : data.total)}</span>
      </h2>
      {boxes.length > 0 && (
        <div className={styles.scroll}>
          <div className={styles.map} style={{ width, height }}>
            <svg width={width} height={height} aria-hidden="true">
              {lines.map((line) => (
                <path key={line} d={line} />
              ))}
            </svg>
            {boxes.map(({ pipeline, box: { x, y, width, height } }) => box(pipeline, { left: x, top: y, width, height }))}
          </div>
        </div>
      )}
      {others.length > 0 && <div className={styles.others}>{others.map((pipeline) => box(pipeline))}</div>}
    </section>
  );
}

/** The last runs of each pipeline as squares, the newest at the right. */
export function RunGrid(): ReactNode {
  const { data } = useAnswer("pipelines", {});
  const items = data?.items ?? [];
  const titles = titlesOf(items);
  return (
    <section className={cards.card} aria-labelledby="newest">
      <h2 id="newest">{START.newest}</h2>
      <ul className={cards.rows} aria-live="off">
        {items.map(({ id, name, namespace, platform, runs }) => {
          const [newest] = runs;
          return (
            newest && (
              <li key={id} className={styles.row}>
                <Link href={addressOf(id, { open: `run:${newest.runId}` })} className={cards.row}>
                  <span className={cards.rowState}>
                    <RunState state={newest.state} />
                  </span>
                  <PlatformIcon node={{ kind: "pipeline", namespace, platform }} />
                  <span className={clsx(cards.rowName, "clip")} title={name}>
                    {titles.get(id)}
                  </span>
                  <span className={clsx(cards.rowNumber, "muted")}>
                    <Ago at={newest.startedAt} />
                  </span>
                </Link>
                <span className={styles.squares}>
                  {runs.toReversed().map((run) => (
                    <Square key={run.runId} id={id} name={titles.get(id) ?? name} run={run} />
                  ))}
                </span>
              </li>
            )
          );
        })}
      </ul>
      <p className={cards.cardFoot}>
        <Link className={controls.link} href="/runs">
          {START.allRuns}
        </Link>
      </p>
    </section>
  );
}

/** A run as a link; only runs with a problem are reached by Tab. */
function Square({ id, name, run: { runId, state, startedAt } }: { id: string; name: string; run: Pipeline["runs"][number] }): ReactNode {
  const isWrong = ["FAILED", "ABORTED", "LOST"].includes(state);
  const text = START.run(labelOfState(state), name, startedAt && moment(startedAt));
  return <Link className={styles.square} href={addressOf(id, { open: `run:${runId}` })} data-state={state} aria-label={text} title={text} {...(!isWrong && { tabIndex: -1 })}>{isWrong ? "×" : ""}</Link>;
}
