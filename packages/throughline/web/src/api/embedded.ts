import type { Embedded } from "./base";

/** Parameters that an embedded answer does not depend on: it is the largest one. */
const OF_SIZE = ["limit", "depth", "up", "down", "columns", "indirect", "facets"];
const MOST_HITS = 200;

interface Hit {
  name: string;
  text: string;
  matched: string;
}

/** The answer to a question in a file; undefined if it has none. The file's search has names and columns. */
export function embeddedAnswer({ answers, pool }: Pick<Embedded, "answers" | "pool">, question: string, query: object): unknown {
  if (question === "search") return search(answers["search"] as readonly Hit[], query);
  const answer = answers[keyOf(question, query)] as Record<string, unknown> | undefined;
  return answer && Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, isPooled(value) ? value.pool.map((place) => pool[place]) : value]));
}

function isPooled(value: unknown): value is { pool: number[] } {
  return typeof value === "object" && value !== null && "pool" in value && Array.isArray(value.pool);
}

/** The key of an answer, as `throughline export` writes it. */
export function keyOf(question: string, query: object): string {
  const told = Object.entries(query).flatMap(([name, value]) => {
    const values = (Array.isArray(value) ? value : [value]) as (string | number | boolean | null | undefined)[];
    return OF_SIZE.includes(name) ? [] : values.filter((each) => each !== null && each !== undefined).map((each) => [name, String(each)] as const);
  });
  return question + JSON.stringify(told.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function search(hits: readonly Hit[], query: { text?: string; matched?: string | null; limit?: number }) {
  const text = query.text?.toLowerCase() ?? "";
  const all = hits.filter((hit) => hit.text.toLowerCase().includes(text));
  const counts = { name: 0, column: 0, tag: 0, owner: 0, description: 0, sql: 0 };
  for (const { matched } of all) counts[matched as keyof typeof counts] += 1;
  const items = all.filter((hit) => !query.matched || hit.matched === query.matched).slice(0, query.limit ?? MOST_HITS);
  return { items, next: null, counts, total: all.length, facets: null };
}
