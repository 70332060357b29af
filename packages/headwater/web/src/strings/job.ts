/** Texts of the details of jobs. */
export const JOB = {
  facts: { state: "State", owners: "Owners", run: "Newest run", started: "Started", duration: "Duration", freshness: "Freshness", tags: "Tags", code: "Code" },
  sql: "SQL",
  source: "Source",
  allRuns: "All runs, including those after the selected time.",
  children: "Timeline of its child runs",
  childrenOf: (startedAt: string) => `Timeline of the child runs of ${startedAt}`,
  newest: (count: number) => `Only the newest ${count} runs are shown.`,
  all: "All runs",
  durations: "Run durations",
  summary: (median: string, outliers: number, runs: number) => `Median ${median} · ${outliers === 0 ? "no outliers" : outliers === 1 ? "1 outlier" : `${outliers} outliers`} in ${runs} ended runs`,
  bar: (duration: string, at: string, note: string) => `${duration}, started ${at}${note && `, ${note}`}`,
  outlier: "outlier",
  notCompleted: "not completed",
} as const;
