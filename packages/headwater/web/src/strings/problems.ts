import { plural } from "../graph/words";

/** Texts of the page of problems. */
export const PROBLEMS = {
  kind: "Health",
  title: "Problems",
  shown: "Problems to show",
  open: "Open",
  decided: "Muted or acknowledged",
  list: "Problems",
  none: "No failures, late jobs or failed checks.",
  nothing: "No problems match these filters.",
  noneDecided: "No problem is muted or acknowledged.",
  select: (name: string) => `Select ${name}`,
  selectAll: (count: number) => `Select all ${count.toLocaleString("en")}`,
  selected: (count: number) => `Mute or acknowledge ${plural(count, "problem")}`,
  reopen: (count: number) => `Reopen ${plural(count, "problem")}`,
  partOf: "in",
  notRebuilt: (count: number) => `${plural(count, "table")} not rebuilt`,
  tagged: (count: number, tag: string) => `${count.toLocaleString("en")} tagged ${tag}`,
  jobs: (count: number) => `${plural(count, "job")} not run`,
  owners: (owners: readonly string[]) => `${owners.length === 1 ? "owner" : "owners"} ${owners.slice(0, 4).join(", ")}${owners.length > 4 ? ` and ${owners.length - 4} more` : ""}`,
  affected: "Show all that is affected",
  noError: "No error message reported.",
  first: (shown: number) => `The first ${shown.toLocaleString("en")}. Use the filters to find others.`,
  /** Of a failed pipeline with several causes. */
  shared: (pipeline: string) => `A change also applies to the other causes of ${pipeline}.`,
} as const;
