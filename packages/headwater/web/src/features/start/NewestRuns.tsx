import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { go, useAddress } from "../../navigation/address";
import { Ago } from "../../components/Ago";
import { Link } from "../../components/Link";
import { PlatformIcon } from "../../components/PlatformIcon";
import { RunState } from "../../components/RunState";
import { addressOf } from "../../graph/view";
import { duration, parts } from "../../graph/words";
import { START } from "../../strings/start";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";

const SHOWN = 20;

/** The newest runs, updated live. */
export function NewestRuns(): ReactNode {
  const isAll = useAddress().searchParams.get("runs") === "all";
  const { data } = useAnswer("runs", { limit: SHOWN, roots: !isAll });
  return (
    <section className={cards.card} aria-labelledby="newest">
      <div className={cards.cardHead}>
        <h2 id="newest">{START.newest}</h2>
        <div className={controls.segments} role="group" aria-label={START.shown}>
          <button type="button" aria-pressed={!isAll} onClick={() => go("/")}>
            {START.pipelines}
          </button>
          <button type="button" aria-pressed={isAll} onClick={() => go("/?runs=all")}>
            {START.all}
          </button>
        </div>
      </div>
      <ul className={cards.rows} aria-live="off">
        {data?.items.map((run) => {
          const { title, above } = parts(run.job.name, "job");
          const node = `job:${run.job.namespace}:${run.job.name}`;
          return (
            <li key={`${run.runId} ${run.job.name}`}>
              <Link href={addressOf(node, { open: `run:${run.runId}` })} className={cards.row}>
                <span className={cards.rowState}>
                  <RunState state={run.state} />
                </span>
                <PlatformIcon node={{ kind: "run", namespace: run.job.namespace, platform: run.platform }} />
                <span className={clsx(cards.rowName, "clip")} title={run.job.name}>
                  {title}
                  {above && <span className="muted"> {above}</span>}
                </span>
                <span className={clsx(cards.rowNumber, "muted")}>{run.durationMs === null ? "" : duration(run.durationMs)}</span>
                <span className={clsx(cards.rowNumber, "muted")}>
                  <Ago at={run.startedAt} />
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
      {data?.next && (
        <p className={clsx(cards.cardFoot, "muted")}>
          {START.newestOf(SHOWN)}{" "}
          <Link className={controls.link} href="/runs">
            {START.allRuns}
          </Link>
        </p>
      )}
    </section>
  );
}
