/** Formatting of durations, times and names. */

const UNITS = [
  ["d", 86_400_000, "h", 3_600_000],
  ["h", 3_600_000, "min", 60_000],
  ["min", 60_000, "s", 1_000],
] as const;

/** Format a duration: 4.2 s, 1 min 8 s, 2 h 5 min. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const [large, small] = pair(rounded(ms));
  return small ? `${large} ${small}` : large;
}

/** Round to the smallest unit that is shown, as the command line does. */
function rounded(ms: number): number {
  const part = UNITS.find(([, size]) => ms >= size)?.[3] ?? 1_000;
  return Math.round(ms / part) * part;
}

function pair(ms: number): [string, string] {
  for (const [large, size, small, part] of UNITS) {
    const rest = Math.floor((ms % size) / part);
    if (ms >= size) return [`${Math.floor(ms / size)} ${large}`, rest ? `${rest} ${small}` : ""];
  }
  return [`${Math.floor(ms / 1_000)} s`, ""];
}

const LONG = [
  ["year", 365],
  ["month", 30],
  ["week", 7],
] as const;

/** Format an age: just now, 5 min ago, 3 h ago, 12 d ago, 3 weeks ago, 4 months ago, 2 years ago. */
export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (Number.isNaN(ms)) return at;
  const days = Math.floor(ms / 86_400_000);
  for (const [unit, size] of LONG) if (days >= 2 * size) return `${plural(Math.floor(days / size), unit)} ago`;
  return ms < 5_000 ? "just now" : `${pair(ms)[0]} ago`;
}

/** Format a time as "now" or as the time until then: in 5 min, in 3 h 10 min, in 2 d. */
export function until(at: string, now: number): string {
  const ms = Date.parse(at) - now;
  return ms < 60_000 ? "now" : `in ${pair(ms).filter(Boolean).join(" ")}`;
}

/** Format a time in UTC to the second; return other texts unchanged. */
export function moment(at: string): string {
  if (Number.isNaN(Date.parse(at))) return at;
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

/** Format the times in a text like `moment`. */
export function withMoments(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (found) => moment(found));
}

/** Format the times in a text like `ago`: "was due at TIME" becomes "was due 3 h ago". */
export function withAges(text: string, now: number): string {
  return text.replace(/\b(?:at )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/g, (_, at: string) => ago(at, now));
}

/** Return the name in an id such as `job:NAMESPACE:NAME`. */
export function nameOf(id: string): string {
  return id.slice(id.lastIndexOf(":") + 1);
}

// Jobs of dbt: SCHEMA.PACKAGE.MODEL.build.run (of `dbt build`, also with a database), and DATABASE.SCHEMA.PACKAGE.MODEL.test (of `dbt test`).
const OF_DBT = /^(?<above>[^.]+(?:\.[^.]+)+?)\.(?<model>[^.]+(?:\.v\d+)?)\.build\.(?<kind>run|test|snapshot|seed)$/;
const OF_DBT_COMMAND = /^(?<above>(?:[^.]+\.){2,}[^.]+)\.(?<model>[^.]+)\.(?<kind>test|snapshot|seed)$/;

/** The ending of a file's name. The server has the same list (text.py). */
const FILE_ENDING = /\.(arrow|avro|bz2|csv|docx|feather|gz|h5|hdf5|html|ipynb|joblib|jpeg|jpg|json|jsonl|ndjson|npy|npz|onnx|orc|parquet|pdf|pickle|pkl|png|pptx|sqlite|svg|tar|tsv|txt|xls|xlsx|xml|yaml|yml|zip|zst)$/i;

/** Split `dag.task` or a path into its last part and the part before. The title of a dbt job is its model; that of a partition's folder begins with its table. */
export function parts(name: string, type: "job" | "dataset"): { title: string; above: string } {
  const ofDbt = type === "job" ? (OF_DBT.exec(name) ?? OF_DBT_COMMAND.exec(name))?.groups : undefined;
  if (ofDbt) {
    const { above = "", model = "", kind } = ofDbt;
    return { title: kind === "test" ? `${model} tests` : model, above };
  }
  const bare = name.replace(/\/+$/, "");
  const isPath = type === "dataset" && (bare.includes("/") || FILE_ENDING.test(bare));
  const places = [...bare.matchAll(isPath ? /\//g : /[.]/g)].map((match) => match.index);
  // The folder of a partition (`dt=2026-01-01`) is named with its table.
  const isPartition = (place: number) => /^[^/=]+=/.test(bare.slice(place + 1));
  const at = places.findLast((place) => !isPartition(place)) ?? -1;
  return { title: bare.slice(at + 1), above: bare.slice(0, Math.max(at, 0)) };
}

/** Return what a title leaves out of a name: the part before it, or the whole name if the title leaves out its end. */
export function restOf(name: string, { title, above }: { title: string; above: string }): string {
  return name.replace(/\/+$/, "").endsWith(title) ? above : name;
}

const MAX_ERROR = 240; // characters of an error that are shown at first

/** Return the first meaningful line of an error without the middle of a long one, and the whole error if it has more. */
export function errorLines(error: string): { first: string; rest: string | null } {
  const lines = error.split("\n").filter((line) => line.trim() !== "");
  // The last line of a Python traceback is the error.
  const line = (lines[0]?.startsWith("Traceback") ? lines.at(-1) : lines[0])?.trim() ?? "";
  const isLong = line.length > MAX_ERROR;
  // The reason stands at the end: "Cannot execute: spark-submit ... Error code is: 1".
  const first = isLong ? `${line.slice(0, MAX_ERROR / 2)} … ${line.slice(-MAX_ERROR / 2)}` : line;
  return { first, rest: isLong || lines.length > 1 ? error : null };
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Format a count compactly: 1.2M. */
export function short(count: number): string {
  return SHORT.format(count);
}

/** Return the command that opens the card of a Metaflow task, if the run reported one. */
export function cardCommand(facets: Record<string, unknown>): string | null {
  const facet = (facets["metaflow_task"] ?? {}) as { pathspec?: unknown; program?: unknown; hasCard?: unknown };
  const { pathspec, program, hasCard } = facet;
  if (hasCard !== true || typeof pathspec !== "string" || typeof program !== "string") return null;
  const words = program.split(" ").map(shellQuoted).join(" ");
  return `${words} card view ${shellQuoted(pathspec.split("/").slice(1).join("/"))}`;
}

/** Complete a headwater command with the configured program name, and the server's URL unless it is the default. */
export function commandLine(command: string, program: string, server: string): string {
  const url = server === "http://localhost:9002" ? "" : ` --url ${server}`;
  return command.replace(/^headwater (\w+)/, (_, name: string) => `${program} ${name}${url}`);
}

/** Quote an argument of a shell command if needed. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Return a job's name without its pipeline. */
export function taskName(job: string): string {
  return job.slice(job.indexOf(".") + 1);
}

interface Named {
  id: string;
  namespace: string;
  name: string;
  type: string;
}

/** Return unique display names by id: the last part of the name, with as many parts before it as needed. */
export function distinctNames(nodes: readonly Named[]): Map<string, string> {
  const partsOf = ({ name, type }: Named) => parts(name, type === "job" ? "job" : "dataset");
  const alike = new Map<string, Named[]>();
  for (const node of nodes) alike.set(partsOf(node).title, [...(alike.get(partsOf(node).title) ?? []), node]);
  const found = new Map<string, string>();
  for (const [title, group] of alike) {
    const pieces = group.map((node) => {
      const { above } = partsOf(node);
      return [node.id, [`${node.namespace} `, ...node.name.slice(0, above ? above.length + 1 : 0).split(/(?<=[./])/)]] as const;
    });
    const most = Math.max(...pieces.map(([, nameParts]) => nameParts.length));
    const named = (count: number) => pieces.map(([id, nameParts]) => [id, nameParts.slice(Math.max(0, nameParts.length - count)).join("") + title] as const);
    let count = 0;
    while (count < most && new Set(named(count).map(([, name]) => name)).size < group.length) count++;
    for (const [id, name] of named(count)) found.set(id, name);
  }
  return found;
}

/** Format sixteen random bytes as a version 4 UUID. */
export function uuid(bytes: Uint8Array): string {
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
}
