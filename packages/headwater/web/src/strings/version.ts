import { plural } from "../graph/words";

/** Texts of a version of a dataset. */
export const VERSION = {
  kind: "Version",
  title: (name: string) => `Version of ${name}`,
  writtenBy: "Written by",
  noWriter: "No run is known to have written this version.",
  inputs: "Read",
  versionOf: (name: string, versions: string) => `${name} @ ${versions || "unknown"}`,
  wrote: "wrote ",
  readBy: (count: number) => (count === 0 ? "Read by" : `Read by ${plural(count, "run")}`),
  noReader: "Unknown: no run is known to have read this version. A reader may not report its runs.",
  affected: (count: number) => `Contained in or used by ${plural(count, "node")}`,
  versions: (count: number) => plural(count, "version"),
  runs: (count: number) => plural(count, "run"),
  byTime: "by time",
  byTimeAbout: "The runs reported no version: the times of writes and reads decide",
  unknown: "Unknown",
  complete: "None: all runs reported the versions that they read.",
  more: (count: number) => `And ${count.toLocaleString("en")} more; the command lists them with --limit.`,
} as const;
