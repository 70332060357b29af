import { useQueryClient, type Query } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { BASE } from "./base";

const QUIET_MS = 1_000;
const AGAIN_MS = 2_000;

/**
 * Refetch current queries after new events, at most once a second; return whether the stream is open.
 *
 * A query that is being fetched is not aborted: a slow one would never finish. It is refetched afterwards.
 */
export function useLive(): boolean {
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(true);
  useEffect(() => {
    if (BASE) return undefined; // nothing new comes to the sample
    let stream: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let hasNews = false;
    let waiting = new Set<Query>(); // queries that news came for while they were being fetched
    const refetch = () => {
      timer = undefined;
      const isDue = (query: Query) => query.meta?.["isPast"] !== true && (hasNews || waiting.has(query));
      const due = queries.getQueryCache().findAll({ predicate: isDue });
      const idle = new Set(due.filter((query) => query.state.fetchStatus === "idle"));
      hasNews = false;
      waiting = new Set(due.filter((query) => !idle.has(query)));
      void queries.invalidateQueries({ predicate: (query) => idle.has(query) });
      if (waiting.size) timer = setTimeout(refetch, QUIET_MS);
    };
    const renew = () => {
      hasNews = true;
      timer ??= setTimeout(refetch, QUIET_MS);
    };
    const open = () => {
      stream = new EventSource("/api/v2/events/stream");
      stream.onopen = () => setOpen(true);
      stream.onmessage = renew;
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
    };
  }, [queries]);
  return isOpen;
}
