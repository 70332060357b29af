/** Texts of the details of datasets and jobs. */
export const DETAILS = {
  noDescription: "No description reported.",
  notReported: "not reported",
  inferred: "Inferred from",
  inferredHow: { dataset: ", which writes this dataset", job: ", of which this job is a part" },
  facts: { owners: "Owners", tags: "Tags", written: "Last written", freshness: "Freshness", rows: "Rows written", version: "Version", aliases: "Aliases" },
  noWriter: "no writing run reported",
  fresh: {
    late: "late: due",
    stopped: "stopped: due",
    onTime: (every: string) => `on time, usually every ${every}`,
    unknown: "no regular schedule",
  },
  columns: "Columns",
  noColumns: "No columns reported.",
  allColumns: (count: number) => `All ${count} columns`,
  checks: "Checks",
  noChecks: "No checks reported.",
  allChecks: "All checks",
  passed: "passed",
  failed: "failed",
  commands: "On the command line",
} as const;
