import { BASE, ONE_FILE } from "./base";
import { NOT_IN_FILE, storedAnswer } from "./oneFile";
import type { paths } from "./schema";

type Question = keyof paths extends `/api/v2/${infer Name}` ? Name : never;
type Asked<Q extends Question> = paths[`/api/v2/${Q}`]["get"];

/** A response of an endpoint of /api/v2. */
export type Answer<Q extends Question> = Asked<Q>["responses"][200]["content"]["application/json"];
/** The query parameters of an endpoint. */
export type Query<Q extends Question> = NonNullable<Asked<Q>["parameters"]["query"]>;
export type { Question };

/** An error with a message for the user. */
export class UserFacingError extends Error {}

/** An error response of the API. */
export class ApiError extends UserFacingError {
  constructor(
    message: string,
    readonly status: number,
    readonly nearest: readonly string[],
  ) {
    super(message);
  }
}

/** Return true if the requested name is unknown. */
export function isUnknown(error: Error): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Return true if the server rejected a request; retrying helps only if the server or a proxy failed. */
export function isRefusal(error: Error): boolean {
  return error instanceof ApiError && error.status < 500;
}

/** Send a query to the API; omit null and undefined parameters. */
export async function ask<Q extends Question>(question: Q, query: Query<Q>, signal?: AbortSignal): Promise<Answer<Q>> {
  return get<Answer<Q>>(`/api/v2/${question}`, query, signal);
}

/** A new state of a finding of health. */
export interface FindingChange {
  subject: string;
  kind: string;
  state: Answer<"findings">["items"][number]["state"];
  until?: string | null;
  note?: string | null;
}

/** Mute, acknowledge or reopen a finding; the key needs the scope `write`. */
export async function postFindingState(change: FindingChange): Promise<void> {
  await received(await fetch(`${BASE}/api/v2/findings`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) }));
}

/** Join two names of one dataset, or undo a statement about two names. */
export async function postAlias(alias: { one: string; other: string; isRemoved?: boolean; isRule?: boolean; isSeparate?: boolean }): Promise<void> {
  await received(await fetch(`${BASE}/api/v2/aliases`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(alias) }));
}

/** Request one run. */
export async function askRun(id: string, signal?: AbortSignal): Promise<Answer<"runs/{run_id}">> {
  return get(`/api/v2/runs/${encodeURIComponent(id)}`, {}, signal);
}

async function get<T>(path: string, query: object, signal?: AbortSignal): Promise<T> {
  if (ONE_FILE) {
    const found = storedAnswer(ONE_FILE, path.replace("/api/v2/", ""), query);
    if (found === undefined) throw new ApiError(NOT_IN_FILE, 400, []);
    return found as T;
  }
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as [string, string | number | boolean | string[] | null | undefined][]) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== null && item !== undefined) params.append(name, String(item));
  }
  return received<T>(await fetch(`${BASE}${path}?${params.toString()}`, { signal: signal ?? null }));
}

/** Return the body of a response; throw an error response with its message. */
async function received<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  const refusal = (await response.json().catch(() => ({}))) as { message?: string; nearest?: string[] };
  throw new ApiError(refusal.message ?? `HTTP ${response.status}`, response.status, refusal.nearest ?? []);
}
