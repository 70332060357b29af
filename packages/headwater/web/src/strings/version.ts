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
  current: "now",
  incident: "Incident",
  unknown: "Unknown",
  complete: "None: all runs reported the versions that they read.",
  more: (count: number) => `And ${count.toLocaleString("en")} more; the command lists them with --limit.`,
} as const;

/** Texts of an incident. */
export const INCIDENT = {
  kind: "Incident",
  title: (name: string) => `Incident of ${name}`,
  message: "Message to the owners",
  copy: "Copy the message",
  bad: "Bad versions",
  failed: (checks: readonly string[]) => `failed ${checks.join(", ")}`,
  changed: (name: string, version: string) => `Changes since version ${version} of ${name}`,
  code: "Code",
  input: "Input ",
  notReported: "not reported",
  same: "No reported change of code or inputs.",
  from: (before: string, after: string) => `${before} → ${after}`,
  affected: (count: number) => plural(count, "affected node"),
  affectedAbout: "Marked “now” if its present contents contain or use the data.",
  clean: "Clean",
  unproven: "Unknown if clean",
  unprovenAbout: "Only times say that these contain no data of it now.",
  owners: "Owners to tell",
  rerun: "Run again, in this order",
  noCommand: (tool: string) => `no command known${tool && ` for ${tool}`}`,
} as const;
