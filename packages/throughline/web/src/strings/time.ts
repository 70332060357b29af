/** Texts about times and the differences between them. */
export const TIME = {
  differences: "Differences",
  noDifferences: "No differences.",
  datasets: "Datasets",
  jobs: "Jobs",
  marks: { added: "Added", removed: "Removed", changed: "Changed", failed: "Failed" },
  moreFailures: (count: number) => `Show ${count.toLocaleString("en")} more failed ${count === 1 ? "run" : "runs"}`,
  inAll: (from: string, to: string) => `${from} to ${to}, in the whole lineage`,
} as const;
