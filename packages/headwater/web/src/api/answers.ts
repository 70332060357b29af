import { keepPreviousData, QueryClient, useInfiniteQuery, useMutation, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { ApiError, ask, askRun, postAlias, postFindingState, type Answer, type FindingChange, type Query, type Question } from "./client";

/** Do not retry error responses; retry without limit if the server does not respond. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (_count, error) => !(error instanceof ApiError && error.status !== 503),
      retryDelay: 2_000,
      staleTime: 5_000,
      networkMode: "always",
    },
  },
});

/** Return the options of a query. */
export function asking<Q extends Question>(question: Q, query: Query<Q>) {
  const isPast = "asOf" in query && query.asOf != null;
  return {
    queryKey: [question, query] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) => ask(question, query, signal),
    meta: { isPast },
  };
}

/** Milliseconds after which a partial response is requested again: each one is more complete. */
const PARTIAL_INTERVAL = 2_000;

/** Return true if a response is partial, because the server started a short time ago. */
function isPartial(data: unknown): boolean {
  return typeof data === "object" && data !== null && "uncounted" in data && Number(data.uncounted) > 0;
}

/** Return a response, kept up to date and repeated while it is partial; no request is sent while the query is null. */
export function useAnswer<Q extends Question>(question: Q, query: Query<Q> | null): UseQueryResult<Answer<Q>> {
  return useQuery({
    ...asking(question, query ?? ({} as Query<Q>)),
    enabled: query !== null,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => isPartial(state.data) && PARTIAL_INTERVAL,
  });
}

/** Request all pages of a list. */
export async function askAll<Q extends "tagged">(question: Q, query: Query<Q>): Promise<Answer<Q>["items"]> {
  const items: Answer<Q>["items"] = [];
  let cursor: string | null = null;
  do {
    const page: Answer<Q> = await ask(question, { ...query, limit: 1_000, cursor });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== null);
  return items;
}

/** Return the error of a query, also while it is retried without data to show. */
export function troubleOf({ error, data, isPlaceholderData, failureReason }: UseQueryResult): Error | null {
  return error ?? (data === undefined || isPlaceholderData ? failureReason : null);
}

export function useRun(id: string): UseQueryResult<Answer<"runs/{run_id}">> {
  return useQuery({ queryKey: ["run", id], queryFn: ({ signal }) => askRun(id, signal) });
}

/** Change the states of findings, then refetch health and findings, also if one of the changes failed. */
export function useFindingState() {
  const change = async (changes: readonly FindingChange[]) => {
    for (const each of changes) await postFindingState(each);
  };
  const refetch = () => Promise.all(["health", "findings", "problems"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
  return useMutation({ mutationFn: change, networkMode: "always", onSettled: refetch });
}

/** Join two names of one dataset, or undo it, then refetch everything. */
export function useAlias() {
  return useMutation({ mutationFn: postAlias, networkMode: "always", onSettled: () => queries.invalidateQueries() });
}

/** Return the events of a run, page by page. */
export function useEvents(run: string) {
  return useInfiniteQuery({
    queryKey: ["events", run],
    queryFn: ({ pageParam, signal }) => ask("events", { run, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}
