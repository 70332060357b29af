import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { addressOf } from "../../graph/view";
import { Link } from "../../components/Link";
import { duration, parts } from "../../graph/words";
import { go, useAddress } from "../../navigation/address";
import { BROWSE } from "../../strings/browse";
import { changed, cursorsIn, nodeStateIn, orderIn, selectedIn, sortOf } from "./address";
import { Parts, rowsBelow } from "./Freshness";
import { Listing, PAGE } from "./Listing";
import { NodeName } from "./rows";
import styles from "./browse.module.css";
import controls from "../../components/controls.module.css";

type Dataset = Answer<"unused">["items"][number];
type Verdict = Dataset["verdict"];

const { unused: UNUSED } = BROWSE;
const DAYS = [7, 30, 90, 365] as const;
const VERDICTS: readonly Verdict[] = ["unused", "unknown"];
const ORDERS = ["cost", "-cost", "read", "-read", "name", "-name"] as const;

/** The datasets that are written and not read, with the run time of their writers. */
export function UnusedList(): ReactNode {
  const params = useAddress().searchParams;
  const { state, ...selected } = selectedIn(params);
  const days = DAYS.find((count) => String(count) === params.get("days")) ?? 30;
  const verdict = VERDICTS.find((name) => name === params.get("verdict")) ?? null;
  const order = orderIn(params, ORDERS);
  const answer = useAnswer("unused", {
    ...selected,
    ...sortOf<"cost" | "read" | "name">(order),
    days,
    verdict,
    text: params.get("name"),
    state: nodeStateIn(state),
    limit: PAGE,
    cursor: cursorsIn(params).at(-1) ?? null,
  });
  return <Listing title={BROWSE.datasets} icon="table" answer={answer} orders={ORDERS} order={order} layout="fresh" none={verdict ? BROWSE.nothing("datasets") : UNUSED.none} above={<Choices days={days} verdict={verdict} answer={answer.data} />} rows={rowsOf} />;
}

/** The buttons for the time without a read and for the verdict. */
function Choices({ days, verdict, answer }: { days: number; verdict: Verdict | null; answer: Answer<"unused"> | undefined }): ReactNode {
  const address = useAddress();
  return (
    <>
      <Parts part="unused" />
      <p className="muted">{UNUSED.about}</p>
      <div className={styles.choices}>
        <div className={clsx(controls.segments, styles.parts)} role="group" aria-label={UNUSED.days}>
          {DAYS.map((choice) => (
            <button key={choice} type="button" aria-pressed={choice === days} onClick={() => go(changed(address, { days: String(choice) }))}>
              {UNUSED.day(choice)}
            </button>
          ))}
        </div>
        <div className={clsx(controls.segments, styles.parts)} role="group" aria-label={UNUSED.label}>
          {[null, ...VERDICTS].map((choice) => (
            <button key={choice} type="button" aria-pressed={choice === verdict} onClick={() => go(changed(address, { verdict: choice }))}>
              {choice ? UNUSED.verdicts[choice] : BROWSE.all} {choice && answer && <span className="muted">{answer.counts[choice].toLocaleString("en")}</span>}
            </button>
          ))}
        </div>
        {answer && answer.runTimeMs > 0 && <span className="muted">{UNUSED.total(duration(answer.runTimeMs))}</span>}
      </div>
    </>
  );
}

function rowsOf(datasets: readonly Dataset[]): ReactNode {
  return rowsBelow(UNUSED.columns, datasets, (dataset, title) => (
    <Row key={dataset.id} dataset={dataset} title={title} />
  ));
}

function Row({ dataset, title }: { dataset: Dataset; title: string }): ReactNode {
  const { columns } = UNUSED;
  const { lastRead, owners, jobOwners, reasons, runCount, runTimeMs, verdict } = dataset;
  return (
    <li>
      <NodeName node={dataset} title={title} />
      <span className={styles.cell} data-column={columns.cost} title={UNUSED.runs(runCount.toLocaleString("en"))}>
        {runCount === 0 ? BROWSE.noRuns : duration(runTimeMs)}
      </span>
      <span className={styles.cell} data-column={columns.read}>
        {lastRead ? (
          <Link className={controls.link} href={addressOf(`job:${lastRead.job.namespace}:${lastRead.job.name}`, { open: `run:${lastRead.runId}` })} title={lastRead.job.name}>
            <Ago at={lastRead.at} />
          </Link>
        ) : (
          UNUSED.never
        )}
      </span>
      <span className={styles.cell} data-column={columns.owner}>
        {owners.join(", ") || (
          <span className="muted" title={BROWSE.ofWriters}>
            {jobOwners.join(", ") || BROWSE.noValue.owner}
          </span>
        )}
      </span>
      <span className={clsx(styles.cell, verdict === "unknown" && "muted")} data-column={columns.verdict}>
        {UNUSED.verdicts[verdict]}
      </span>
      {reasons.length > 0 && (
        <span className={clsx(styles.reasons, "muted")}>
          {reasons.map(({ kind, message, jobs }) => (
            <span key={kind} title={jobs.map(({ name }) => name).join(", ")}>
              {UNUSED.reason(
                message,
                jobs.map(({ name }) => parts(name, "job").title),
              )}
            </span>
          ))}
        </span>
      )}
    </li>
  );
}
