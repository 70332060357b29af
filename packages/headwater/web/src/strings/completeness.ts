import { plural } from "../graph/words";

/** Texts of the view of missing lineage per pipeline. */
export const COMPLETENESS = {
  kind: "Completeness",
  title: "Incomplete pipelines",
  about: "What the newest runs of each pipeline do not report. Lineage is only as complete as the events of its producers.",
  uncounted: (jobs: number) => `The runs of ${plural(jobs, "job")} have not been measured yet, so their pipelines are missing. The page updates in a few seconds.`,
  none: "No pipeline has run yet.",
  allComplete: "All pipelines report inputs, outputs, columns, code and end events.",
  summary: (incomplete: number, all: number) => (incomplete ? `${incomplete} of ${all} pipelines are incomplete.` : "No pipeline is known to be incomplete."),
  completeTitle: (count: number) => `Complete (${count})`,
  unknownTitle: (count: number) => `Unknown: no completed run read or wrote data (${count})`,
  missing: (count: number) => `${count} missing`,
  remedy: "What to do:",
  more: (count: number) => `Only the first ${count} pipelines are listed.`,
} as const;

/** Labels of missing lineage, by the kind of a finding. */
export const MISSING: Readonly<Record<string, string>> = {
  "incomplete inputs": "Inputs",
  "incomplete outputs": "Outputs",
  "incomplete columns": "Column lineage",
  "incomplete code": "Code location",
  "incomplete ends": "End events",
};
