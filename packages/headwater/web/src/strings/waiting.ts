/** Texts for loading and for an unavailable server. */
export const WAITING = {
  loading: "Loading …",
  arranging: (count: number) => `Arranging ${count.toLocaleString("en")} ${count === 1 ? "node" : "nodes"} …`,
  away: "The server does not respond. Shown is the last graph received, ",
  retries: ". This page retries automatically.",
} as const;
