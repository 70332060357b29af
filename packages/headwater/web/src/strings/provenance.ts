import { plural } from "../graph/words";

/** Texts of the provenance of a dataset. */
export const PROVENANCE = {
  title: (name: string) => `Provenance of ${name}`,
  version: "Version",
  contents: (isPast: boolean) => `Contents ${isPast ? "at that time" : "now"}`,
  option: (version: string | null, time: string) => `${version ?? ""}${time && `, ${time}`}`,
  newest: (count: number, program: string) => `The newest ${count} versions; \`${program} history\` lists all.`,
  personalData: "Personal data",
  unknown: "Unknown",
  complete: "Nothing: every run reported its commit, versions and end.",
  tree: "Upstream versions",
  statement: "Statement",
  aboutStatement: (program: string) => `Save as an in-toto statement. \`${program} provenance --bundle\` also signs it.`,
  file: (name: string) => `${name.replace(/[^\w.-]+/g, "-")}.provenance.json`,
  inGraph: (name: string) => `${name}\nShow in the graph`,
  asAbove: "as above",
  source: (isMany: boolean) => `source: no known run wrote ${isMany ? "them" : "it"}`,
  noVersion: "no version reported",
  versions: (count: number) => plural(count, "version"),
  copyVersion: "Copy the version",
  members: (count: number) => `All ${count.toLocaleString("en")}`,
  declared: "declared; no runs reported",
  noCommit: "no commit reported",
  otherCommits: (count: number) => `and ${plural(count, "other commit")}`,
  allRuns: (count: number) => `All ${plural(count, "run")}`,
  read: (name: string, versions: string) => `${name} @ ${versions || "no version reported"}`,
  uses: (inputs: string, outputs: string, failed: string) =>
    [["read", inputs], ["wrote", outputs], ["failed to write", failed]].filter(([, datasets]) => datasets).flat().join("\n"),
} as const;
