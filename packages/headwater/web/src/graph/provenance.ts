import type { Answer } from "../api/client";
import { codeText, type CodePlace } from "./repository";
import { datasetTags, type Tag } from "./tags";
import { moment, parts, plural } from "./words";

export type ProvenanceAnswer = Answer<"provenance">;
export type Upstream = ProvenanceAnswer["runs"][number];
type Use = { namespace: string; name: string; versions: string[] };

/** An upstream dataset, with its used versions. */
export interface Member {
  id: string;
  namespace: string;
  name: string;
  kind: string;
  versions: string[];
  tags: string[];
  removal: ProvenanceAnswer["datasets"][number]["removal"];
}

/** A node of the upstream tree: one dataset, or many files of one folder with the same writers. */
export interface Origin {
  key: string;
  title: string;
  where: string;
  kind: string;
  members: Member[];
  by: Maker[];
  /** True if its upstream is shown elsewhere in the tree. */
  isAbove: boolean;
}

export interface Maker {
  /** Id of the job. */
  job: string;
  name: string;
  /** Its runs, newest first; an entry without a run contains declared inputs and outputs. */
  entries: Upstream[];
  commits: CodePlace[];
  inputs: Origin[];
}

/** Maximum number of files of one folder that are shown separately. */
const FEW = 3;
const keyOf = (dataset: { namespace: string; name: string }) => `dataset:${dataset.namespace}:${dataset.name}`;

/** Return the inputs of a run that feed some of its outputs. */
function inputsOf({ inputs, outputs }: Upstream, ids: ReadonlySet<string>): Use[] {
  const chosen = outputs.filter((output) => ids.has(keyOf(output)));
  return inputs.filter((input) => chosen.some(({ sources }) => sources === null || sources.some((source) => keyOf(source) === keyOf(input))));
}

/**
 * Build the upstream tree of a dataset down to the sources; each path appears once.
 *
 * A member is a dataset with its versions, an origin a node of the tree with one or several members, a maker a job that wrote them.
 */
export function originTree(answer: ProvenanceAnswer): Origin {
  const about = new Map(answer.datasets.map((dataset) => [dataset.id, dataset]));
  const tags = new Map<string, Tag[]>();
  for (const tag of answer.tags) put(tags, tag.id, tag);
  const writers = new Map<string, Upstream[]>();
  for (const entry of answer.runs) {
    for (const output of entry.outputs) put(writers, keyOf(output), entry);
  }
  const writersOf = (id: string) => writers.get(id) ?? [];
  const seen = new Set<string>();

  const memberOf = (id: string, versions: readonly string[]): Member => {
    const { name, namespace, kind, removal } = about.get(id) ?? { name: id, namespace: "", kind: "table", removal: null };
    return { id, name, namespace, kind, removal, versions: [...new Set(versions)], tags: datasetTags(tags.get(id) ?? [], id) };
  };

  const originOf = (first: Member, members: Member[]): Origin => {
    const { title, above } = parts(first.name, "dataset");
    const entries = [...new Set(members.flatMap((member) => writersOf(member.id)))];
    const isAbove = entries.length > 0 && members.every((member) => seen.has(member.id));
    for (const member of members) seen.add(member.id);
    return {
      key: members.map((member) => member.id).join(" "),
      title: members.length > 1 ? plural(members.length, first.kind) : title,
      where: [first.namespace, above].filter(Boolean).join(" · "),
      kind: first.kind,
      members,
      by: isAbove ? [] : makersOf(entries, members),
      isAbove,
    };
  };

  const makersOf = (entries: readonly Upstream[], outputs: readonly Member[]): Maker[] => {
    const ids = new Set(outputs.map((output) => output.id));
    const jobs = new Map<string, Upstream[]>();
    for (const entry of entries) put(jobs, `job:${entry.job.namespace}:${entry.job.name}`, entry);
    return [...jobs].map(([job, all]) => ({
      job,
      name: job.slice(job.lastIndexOf(":") + 1),
      entries: all,
      commits: commitsOf(all),
      inputs: folded(all.flatMap((entry) => inputsOf(entry, ids))),
    }));
  };

  /** Merge the versions of inputs, and many files of one folder with the same writers. */
  const folded = (inputs: readonly Use[]): Origin[] => {
    const versions = new Map<string, string[]>();
    for (const input of inputs) put(versions, keyOf(input), ...input.versions);
    const groups = new Map<string, Member[]>();
    for (const [id, all] of versions) {
      const member = memberOf(id, all);
      const by = [...new Set(writersOf(id).map((entry) => entry.job.name))].sort();
      const isFile = member.kind === "file";
      put(groups, isFile ? [id.slice(0, id.lastIndexOf("/")), ...by].join(" ") : id, member);
    }
    return [...groups.values()].flatMap((all) => (all.length > FEW ? all.slice(0, 1).map((first) => originOf(first, all)) : all.map((member) => originOf(member, [member]))));
  };

  const written = writersOf(answer.node).flatMap((entry) => entry.outputs.filter((output) => keyOf(output) === answer.node));
  const root = memberOf(answer.node, answer.version === null ? written.flatMap((output) => output.versions) : [answer.version]);
  return originOf(root, [root]);
}

function put<T>(lists: Map<string, T[]>, key: string, ...values: T[]): void {
  const list = lists.get(key);
  if (list) list.push(...values);
  else lists.set(key, values);
}

function commitsOf(entries: readonly Upstream[]): CodePlace[] {
  const found = new Map<string, CodePlace>();
  for (const { code } of entries) {
    const place = code;
    if (codeText(place)) found.set(JSON.stringify([place.repoUrl, place.path, place.version]), place);
  }
  return [...found.values()];
}

/** Summarize: 12 runs of 4 jobs · 2 commits · from 3 sources. */
export function provenanceLine(answer: ProvenanceAnswer): string {
  const jobs = new Set(answer.runs.map((entry) => `${entry.job.namespace} ${entry.job.name}`)).size;
  const commits = new Set(answer.runs.map((entry) => (entry.code).version).filter(Boolean)).size;
  return [`${plural(answer.runs.length, "run")} of ${plural(jobs, "job")}`, commits > 0 && plural(commits, "commit"), `from ${plural(answer.sources.length, "source")}`].filter(Boolean).join(" · ");
}

/** Format the tree as indented text. */
export function provenanceText(root: Origin): string {
  const lines: string[] = [];
  const put = (origin: Origin, depth: number) => {
    const indent = "  ".repeat(depth);
    for (const { name, versions } of origin.members) lines.push(`${indent}${name}${versions.length > 0 ? ` @ ${versions.join(", ")}` : ""}${origin.isAbove ? " (as above)" : ""}`);
    for (const maker of origin.by) {
      const newest = maker.entries[0]?.run;
      const code = maker.commits.map(codeText).join("; ");
      lines.push(`${indent}  by ${maker.name}, ${plural(maker.entries.length, "run")}${newest ? `, newest ${newest.runId}${newest.startedAt ? ` ${moment(newest.startedAt)}` : ""}` : ""}${code ? `, ${code}` : ""}`);
      for (const input of maker.inputs) put(input, depth + 2);
    }
  };
  put(root, 0);
  return lines.join("\n");
}
