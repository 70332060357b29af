import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { go, useAddress } from "../../app/address";
import { Ago } from "../../components/Ago";
import { Link } from "../../components/Link";
import { PlatformIcon } from "../../components/PlatformIcon";
import { RunState } from "../../components/RunState";
import { addressOf } from "../../graph/view";
import { duration, parts } from "../../graph/words";
import { START } from "../../strings/start";

const SHOWN = 20;

/** The newest runs, updated live. */
export function NewestRuns(): ReactNode {
  const isAll = useAddress().searchParams.get("runs") === "all";
  const { data } = useAnswer("runs", { limit: SHOWN, roots: !isAll });
  return (
    <section className="card" aria-labelledby="newest">
      <div className="card-head">
        <h2 id="newest">{START.newest}</h2>
        <div className="segments" role="group" aria-label={START.shown}>
          <button type="button" aria-pressed={!isAll} onClick={() => go("/")}>
            {START.pipelines}
          </button>
          <button type="button" aria-pressed={isAll} onClick={() => go("/?runs=all")}>
            {START.all}
          </button>
        </div>
      </div>
      <ul className="rows" aria-live="off">
        {data?.items.map((run) => {
          const { title, above } = parts(run.job.name, "job");
          const node = `job:${run.job.namespace}:${run.job.name}`;
          return (
            <li key={`${run.runId} ${run.job.name}`}>
              <Link href={addressOf(node, { open: `run:${run.runId}` })} className="row">
                <span className="row-state">
                  <RunState state={run.state} />
                </span>
                <PlatformIcon node={{ kind: "run", namespace: run.job.namespace, platform: run.platform }} />
                <span className="row-name clip" title={run.job.name}>
                  {title}
                  {above && <span className="muted"> {above}</span>}
                </span>
                <span className="row-number muted">{run.durationMs === null ? "" : duration(run.durationMs)}</span>
                <span className="row-number muted">
                  <Ago at={run.startedAt} />
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
      {data?.next && (
        <p className="card-foot muted">
          {START.newestOf(SHOWN)}{" "}
          <Link className="link" href="/runs">
            {START.allRuns}
          </Link>
        </p>
      )}
    </section>
  );
}
