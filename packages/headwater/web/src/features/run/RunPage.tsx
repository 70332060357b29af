import { useEffect, type ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import { go, useAddress } from "../../navigation/address";
import { Link } from "../../components/Link";
import { ErrorMessage } from "../../components/ErrorMessage";
import { addressOf } from "../../graph/view";
import { NotFound } from "../fallback/NotFound";
import { FALLBACK } from "../../strings/fallback";
import styles from "../../components/message.module.css";
import controls from "../../components/controls.module.css";
import { Loading } from "../../components/Skeleton";

/** Redirect to the run with an orchestrator's run id. */
export function RunPage(): ReactNode {
  const params = useAddress().searchParams;
  const [job, ownId] = [params.get("job"), params.get("id")];
  const answer = useAnswer("runs", job && ownId ? { job, ownId, limit: 1 } : null);
  const { data } = answer;
  const trouble = troubleOf(answer);
  const run = data?.items[0];
  useEffect(() => {
    if (job && run) go(addressOf(job, { open: `run:${run.runId}` }), true);
  }, [job, run]);
  if (!job || !ownId) return <NotFound />;
  if (run || (!data && !trouble)) return <Loading />;
  return (
    <main className={styles.lost} data-testid="lost">
      {trouble ? (
        <ErrorMessage error={trouble} />
      ) : (
        <>
          <h1>{FALLBACK.noRun}</h1>
          <p>
            {FALLBACK.unknownRun[0]}
            <code>{ownId}</code>
            {FALLBACK.unknownRun[1]}
            <code>{job}</code>
            {FALLBACK.unknownRun[2]}
          </p>
          <p>
            <Link className={controls.link} href={addressOf(job)}>
              {FALLBACK.job}
            </Link>
          </p>
        </>
      )}
    </main>
  );
}
