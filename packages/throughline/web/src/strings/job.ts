/** Texts of the details of jobs. */
export const JOB = {
  durations: "Run durations",
  summary: (median: string, outliers: number, runs: number) => `Median ${median} · ${outliers === 0 ? "no outliers" : outliers === 1 ? "1 outlier" : `${outliers} outliers`} in ${runs} ended runs`,
  bar: (duration: string, at: string, note: string) => `${duration}, started ${at}${note && `, ${note}`}`,
  outlier: "outlier",
  notCompleted: "not completed",
} as const;
