import { plural } from "../graph/words";

/** Texts of the problems page. */
export const PROBLEMS = {
  incident: "Who used the data",
  kind: "Health",
  title: "Problems",
  shown: "Problems to show",
  open: "Open",
  decided: "Muted or acknowledged",
  list: "Problems",
  none: "No open problems.",
  uncounted: (count: number) => `The lateness of ${count.toLocaleString("en")} jobs and datasets is not known yet, so problems may be missing. The page updates in a few seconds.`,
  nothing: "No problems match these filters.",
  noneDecided: "No problem is muted or acknowledged.",
  select: (name: string) => `Select ${name}`,
  selectAll: (count: number) => `Select all ${count.toLocaleString("en")}`,
  selected: (count: number) => `Mute or acknowledge ${plural(count, "problem")}`,
  reopen: (count: number) => `Reopen ${plural(count, "problem")}`,
  partOf: "in",
  notRebuilt: (count: number) => `${plural(count, "dataset")} not rebuilt`,
  tagged: (count: number, tag: string) => `${count.toLocaleString("en")} tagged ${tag}`,
  jobs: (count: number) => `${plural(count, "job")} not run`,
  views: (count: number) => `${plural(count, "view")} affected`,
  exposures: (count: number) => `${plural(count, "exposure")} affected`,
  owners: (owners: readonly string[]) => `${owners.length === 1 ? "owner" : "owners"} ${owners.slice(0, 4).join(", ")}${owners.length > 4 ? ` and ${owners.length - 4} more` : ""}`,
  affected: "Show affected datasets and jobs",
  noError: "No error message reported.",
  first: (shown: number) => `The first ${shown.toLocaleString("en")}. Use the filters to find others.`,
  /** Tooltip of a failed pipeline with several causes. */
  shared: (pipeline: string) => `Muting or acknowledging also applies to the other causes of ${pipeline}.`,
} as const;
