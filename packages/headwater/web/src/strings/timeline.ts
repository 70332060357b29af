import { plural } from "../graph/words";

/** Texts of the timeline below the graph. */
export const TIMELINE = {
  label: "Timeline",
  range: "Time range",
  changes: "Changes",
  runs: "Runs",
  now: "Now",
  unavailable: (message: string) => `The timeline is unavailable: ${message}`,
  summary: (runs: number, changes: number, isMore: boolean, steps: string) => `${plural(runs, "run")}, ${plural(changes, "change")}${isMore ? " and more" : ""}, ${steps}`,
  allSteps: "all steps",
  all: "all",
  steps: (up: string, down: string, name: string) =>
    `within ${up} upstream and ${down} downstream of ${name}. Click a bar to view the graph at that time, or a marker to see the change`,
  mark: (label: string | null, text: string) => `${label ? `${label}. ` : ""}${text}. Compare before and after`,
  markTitle: (text: string) => `${text}\nClick to compare before and after`,
  bar: (text: string) => `${text}. View the graph at that time`,
  barTitle: (text: string) => `${text}\nClick to view the graph at that time; Shift-click to compare`,
  cursor: (label: string, time: string) => `${label} ${time}`,
} as const;
