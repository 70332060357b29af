import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { BASE } from "./base";

const QUIET_MS = 1_000;
const AGAIN_MS = 2_000;

/** Ask again what is shown whenever events came in, at most once a second; whether the stream is open. */
export function useLive(): boolean {
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(true);
  useEffect(() => {
    if (BASE) return undefined; // nothing new comes to the sample
    let stream: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    const renew = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ predicate: (query) => query.meta?.["isPast"] !== true });
      }, QUIET_MS);
    };
    const open = () => {
      stream = new EventSource("/api/v2/events/stream");
      stream.onopen = () => setOpen(true);
      stream.onmessage = renew;
      // By itself a browser gives up where a proxy says 502 for a server that restarts.
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
    // A browser keeps six connections to a server: a tab that nobody sees needs none of them.
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
