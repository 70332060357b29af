import { useQueryClient, type Query } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { IS_STATIC } from "./base";
import { canChange, topicsOf, type Topics } from "./topics";

const QUIET_MS = 1_000;
const AGAIN_MS = 2_000;
/** Pause after which all queries are refetched, also those that the events seem not to change. */
const ALL_MS = 30_000;
const MOST_EVENTS = 500;

/**
 * Refetch the current queries that new events can change, at most once a second; return whether the stream is open.
 *
 * A query that is being fetched is not aborted: a slow one would never finish. It is refetched afterwards.
 */
export function useLive(): boolean {
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(true);
  useEffect(() => {
    if (IS_STATIC) return undefined;
    let stream: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let all: ReturnType<typeof setTimeout> | undefined;
    let isAll = false;
    let events: Topics[] = [];
    const related = new Set<string>(); // runs whose earlier events could change an answer, see `canChange`
    let waiting = new Set<Query>(); // queries with new events while they were being fetched
    const isChanged = (query: Query) => isAll || events.length > MOST_EVENTS || canChange(events, { key: query.queryKey, data: query.state.data }, related);
    const refetch = () => {
      timer = undefined;
      const isDue = (query: Query) => query.meta?.["isPast"] !== true && (waiting.has(query) || isChanged(query));
      const due = queries.getQueryCache().findAll({ predicate: isDue });
      const idle = new Set(due.filter((query) => query.state.fetchStatus === "idle"));
      isAll = false;
      events = [];
      waiting = new Set(due.filter((query) => !idle.has(query)));
      void queries.invalidateQueries({ predicate: (query) => idle.has(query) });
      if (waiting.size) timer = setTimeout(refetch, QUIET_MS);
    };
    const schedule = () => (timer ??= setTimeout(refetch, QUIET_MS));
    const renew = () => {
      clearTimeout(all);
      all = undefined;
      isAll = true;
      related.clear();
      schedule();
    };
    const receive = ({ data }: MessageEvent<string>) => {
      if (events.length <= MOST_EVENTS) events.push(topicsOf(JSON.parse(data) as Record<string, unknown>));
      schedule();
      all ??= setTimeout(renew, ALL_MS);
    };
    const open = () => {
      stream = new EventSource("/api/v2/events/stream");
      stream.onopen = () => setOpen(true);
      stream.onmessage = receive;
      // A browser stops reconnecting if a proxy returns 502 while the server restarts.
      stream.onerror = () => {
        close();
        setOpen(false);
        again = setTimeout(follow, AGAIN_MS);
      };
    };
    const close = () => {
      clearTimeout(again);
      stream?.close();
      stream = null;
    };
    // A browser allows six connections per server, so hidden tabs close theirs.
    const follow = () => {
      if (document.hidden) close();
      else if (!stream) {
        open();
        renew();
      }
    };
    open();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      close();
      clearTimeout(timer);
      clearTimeout(all);
    };
  }, [queries]);
  return isOpen;
}
