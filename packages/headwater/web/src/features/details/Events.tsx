import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useEvents } from "../../api/answers";
import { Copy } from "../../components/Copy";
import { Skeleton } from "../../components/Skeleton";
import { ErrorMessage } from "../../components/ErrorMessage";
import { moment } from "../../graph/words";
import { RUN } from "../../strings/details";
import details from "./details.module.css";
import codeStyles from "../../components/code.module.css";
import controls from "../../components/controls.module.css";
import { WAITING } from "../../strings/waiting";

/** The received events of a run. */
export function Events({ runId }: { runId: string }): ReactNode {
  const { data, error, hasNextPage, isFetching, fetchNextPage } = useEvents(runId);
  if (error) return <ErrorMessage error={error} />;
  if (!data) return <Skeleton />;
  const events = data.pages.flatMap((page) => page.items) as { eventType?: string; eventTime?: string }[];
  return (
    <>
      {events.length === 0 && !hasNextPage && <p className="muted">{RUN.noEvents}</p>}
      {events.map((event, nth) => {
        const text = JSON.stringify(event, null, 2);
        return (
          <details key={nth} className={details.facet}>
            <summary>
              {event.eventType ?? RUN.event} <span className="muted">{moment(event.eventTime ?? "")}</span>
            </summary>
            <div className={clsx(codeStyles.command, codeStyles.code)}>
              <pre tabIndex={0} role="region" aria-label={RUN.eventOf(nth + 1)}>
                {text}
              </pre>
              <Copy text={text} label={RUN.copyEvent} />
            </div>
          </details>
        );
      })}
      {hasNextPage && (
        <button type="button" className={controls.link} disabled={isFetching} onClick={() => void fetchNextPage()}>
          {isFetching ? WAITING.loading : RUN.moreEvents}
        </button>
      )}
    </>
  );
}
