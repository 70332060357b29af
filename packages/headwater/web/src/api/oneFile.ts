import type { OneFile } from "./base";

/** Parameters of size: a file has one answer for all their values, the largest. */
const SIZE_PARAMS = ["limit", "depth", "up", "down", "columns", "indirect", "facets"];
const MAX_HITS = 200;

/** The error of an exported page, which is one file, if it does not contain an answer. */
export const NOT_IN_FILE = "This file does not contain the answer. Open the lineage server's page for it";

interface Hit {
  name: string;
  text: string;
  matched: string;
}

/** Return a file's answer to a query; undefined if it has none. The search covers names and columns. */
export function storedAnswer({ answers, pool }: Pick<OneFile, "answers" | "pool">, path: string, query: object): unknown {
  if (path === "search") return search(answers["search"] as readonly Hit[], query);
  const answer = answers[keyOf(path, query)] as Record<string, unknown> | undefined;
  return answer && Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, isPooled(value) ? value.pool.map((index) => pool[index]) : value]));
}

function isPooled(value: unknown): value is { pool: number[] } {
  return typeof value === "object" && value !== null && "pool" in value && Array.isArray(value.pool);
}

/** The key of an answer, as `headwater export` writes it. */
export function keyOf(path: string, query: object): string {
  const params = Object.entries(query).flatMap(([name, value]) => {
    const values = (Array.isArray(value) ? value : [value]) as (string | number | boolean | null | undefined)[];
    return SIZE_PARAMS.includes(name) ? [] : values.filter((item) => item !== null && item !== undefined).map((item) => [name, String(item)] as const);
  });
  return path + JSON.stringify(params.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Return the stored hits whose text contains the requested one, in the form of the search query's answer. */
function search(hits: readonly Hit[], query: { text?: string; matched?: string | null; limit?: number }) {
  const text = query.text?.toLowerCase() ?? "";
  const all = hits.filter((hit) => hit.text.toLowerCase().includes(text));
  const counts = { name: 0, column: 0, tag: 0, owner: 0, description: 0, sql: 0, error: 0, run: 0, version: 0 };
  for (const { matched } of all) counts[matched as keyof typeof counts] += 1;
  const items = all.filter((hit) => !query.matched || hit.matched === query.matched).slice(0, query.limit ?? MAX_HITS);
  return { items, next: null, counts, total: all.length, facets: null };
}
