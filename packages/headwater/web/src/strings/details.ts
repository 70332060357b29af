import { plural } from "../graph/words";

/** Texts of the details of datasets and jobs. */
export const DETAILS = {
  noDescription: "No description reported.",
  notReported: "not reported",
  inferred: "Inferred from",
  inferredHow: { dataset: ", which writes this dataset", job: ", of which this job is a part" },
  facts: { state: "State", contents: "Contents", owners: "Owners", tags: "Tags", written: "Last written", freshness: "Freshness", rows: "Rows written", version: "Version", aliases: "Aliases" },
  noWriter: "no writing run reported",
  fresh: {
    late: "late: due",
    stopped: "stopped: due",
    usual: (every: string, isOnTime: boolean) => `${isOnTime ? "on time, " : ""}usually every ${every}`,
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
  notRun: "not run",
  warned: "warning",
  resize: "Resize the details",
  resizeNames: "Resize the names",
  noChildren: "No child runs reported.",
  firstRuns: (first: number, runs: string) => `The first ${first} of ${runs}.`,
  showAll: "Show all",
  failedBelow: "Failed child runs",
  noError: "No error message reported.",
  label: "Details",
  close: "Close details",
  closeTitle: "Close (Esc)",
  tabs: { about: "About", schema: "Schema", versions: "Versions", quality: "Quality", history: "History", facets: "Facets", runs: "Runs", children: "Child runs", events: "Events", lineage: "Lineage", elsewhere: "Elsewhere" },
  noFacets: "No facets reported.",
  upTo: (time: string) => `Changes until ${time}.`,
  noChanges: "No changes since its first event.",
  beforeAndAfter: "Before and after",
  run: "Run",
  omitted: "Older changes are omitted; the command lists all.",
  changes: "Changes",
  added: (name: string, type: string | null) => `+ ${name}: ${type ?? ""}`,
  removed: (name: string, type: string | null) => `− ${name}: ${type ?? ""}`,
  changed: (name: string, from: string | null, to: string | null) => `${name}: ${from ?? ""} → ${to ?? ""}`,
  older: (count: number, program: string) => `Only the newest ${count} history entries are shown; \`${program} history\` lists all.`,
  showVersion: (version: string) => `${version}\nShow its readers`,
  noWriters: "No writing runs reported.",
  failedToWrite: "Failed to write it",
} as const;

/** Texts of the details of a column. */
export const COLUMN = {
  kind: "Column",
  of: "of ",
  downstream: "Downstream columns",
  noProducer: "No reported run wrote this dataset; it is a source.",
  by: (job: string) => `By ${job}`,
  writers: (runs: number) => `${plural(runs, "run")} wrote its current contents`,
  noLineage: "This run wrote the dataset but reported no lineage for this column.",
  sources: "Source columns",
  rows: "Rows determined by",
  evidence: { sql: "read from SQL", verified: "verified by SQL" },
  codeAt: "Code ",
  noCode: "No query or code reported.",
  code: { sql: "SQL", python: "Code of the job" },
  unnamed: {
    sql: (column: string) => `This query does not name the column ${column}. It may come from SELECT *.`,
    python: (column: string) => `This code does not name the column ${column}.`,
  },
  others: (count: number) => (count === 0 ? "No other dataset has a column of this name." : `${plural(count, "other dataset has", "other datasets have")} a column of this name.`),
  search: (name: string) => `Everything that contains “${name}”`,
} as const;

/** Texts of the details of a run. */
export const RUN = {
  copyId: "Copy the run’s id",
  allRuns: "All runs of the job",
  current: (time: string) => `Current state of the run, not as of ${time}.`,
  facts: { state: "State", started: "Started", duration: "Duration", code: "Code", ownId: "Id in the orchestrator" },
  above: "Part of",
  root: "root",
  parent: "parent",
  read: "Read",
  wrote: "Wrote",
  failedToWrite: "Failed to write",
  parameters: "Parameters",
  copyCard: "Copy the command that opens the card",
  error: "Error",
  fullError: "Full error",
  log: (name: string) => `Open the log: ${name}`,
  noEvents: "No events; only other runs mention this run.",
  event: "event",
  eventOf: (number: number) => `Event ${number}`,
  copyEvent: "Copy the event",
  moreEvents: "More events",
} as const;

/** Texts about late jobs and datasets. */
export const LATENESS = {
  label: "Lateness",
  causes: "Causes of the delay",
  possible: "Possible causes of a delay",
  due: "Due ",
  every: (every: string, isStopped: boolean) => `; expected every ${every}${isStopped ? " and has stopped" : ""}.`,
  healthy: "No problem upstream is known.",
  reasons: { failed: "first failed", lost: "sent no end event; last event", running: "is still running; started", late: "was not started; due" } as Readonly<Record<string, string>>,
} as const;

/** Texts of the evidence of edges. */
export const EVIDENCE = {
  title: "Evidence of edges",
  /** Grades, those to check first. */
  grades: { contradicted: "Contradicted", stale: "Stale", possible: "Possible", reported: "Reported", verified: "Verified" },
  tones: { contradicted: "bad", stale: "warn", possible: "warn", reported: "", verified: "good" },
  about: {
    contradicted: "Only the producer states the edge, and the SQL text, read completely, does not name the dataset",
    stale: "The three newest finished runs of the task do not have the edge",
    possible: "A run lists the input and the output, and no source states that one feeds the other",
    reported: "One source states the edge",
    verified: "Two independent sources state the edge",
  },
  kinds: { explicit: "explicit lineage", columns: "column lineage", sql: "SQL text", datasets: "inputs and outputs", declared: "event without a run" },
  sides: { up: "from", down: "to" },
  seen: "last seen",
} as const;
