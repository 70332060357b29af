import { expect, test } from "vitest";
import { answer, column, id } from "../test/graphs";
import { changeGroups, changesOf, marksOf, type DiffAnswer } from "./difference";

const READS = ["dataset:n:db.weather", "job:n:dag.train"];
const WRITES = ["job:n:dag.train", "dataset:n:db.model"];
const DIFF = {
  level: "task",
  nodes: {
    "dataset:n:db.new": { type: "dataset", namespace: "n", name: "db.new", kind: "model" },
    "dataset:n:db.weather": { type: "dataset", namespace: "n", name: "db.weather", kind: "table" },
    "job:n:dag.train": { type: "job", namespace: "n", name: "dag.train", kind: null },
  },
  added: ["dataset:n:db.new"],
  removed: ["dataset:n:db.old"],
  edgesAdded: [READS, ["job:n:dag.load", "dataset:n:db.new"], []],
  edgesRemoved: [WRITES],
  schemas: [{ node: "dataset:n:db.weather", added: ["x: int", "z: date"], removed: ["y: int", "z: text", "bare"] }],
  code: [
    { node: "job:n:dag.train", from: "0123456789", to: "abcdefabcd", isSourceChanged: false },
    { node: "job:n:dag.new", from: null, to: null, isSourceChanged: true },
  ],
  failed: [
    { runId: "r", job: { namespace: "n", name: "dag.load" }, state: "FAILED", startedAt: "2026-01-01T02:00:00Z", endedAt: null, durationMs: null, error: "no disk" },
    { runId: "s", job: { namespace: "n", name: "dag.load" }, state: "FAILED", startedAt: null, endedAt: null, durationMs: null, error: null },
  ],
} as unknown as DiffAnswer;

test("changed nodes and edges are marked", () => {
  const { marks, edges } = marksOf(DIFF);
  expect(Object.fromEntries(marks)).toMatchObject({ "dataset:n:db.new": "added", "dataset:n:db.old": "removed", "job:n:dag.train": "changed" });
  expect(edges.get(READS.join(" "))).toBe("added");
  expect(edges.get(WRITES.join(" "))).toBe("removed");
});

test("changed columns are marked once", () => {
  const columns = [...marksOf(DIFF).columns.values()].map(({ field, type, mark }) => [field, type, mark]);
  expect(columns).toEqual([["y", "int", "removed"], ["z", "date", "changed"], ["bare", "", "removed"], ["x", "int", "added"]]);
});

test("column edges at one time are marked if the other graph has both ends", () => {
  const then = { ...answer("a", "a>j1", "j1>b"), columns: [column("a.x", "b.x"), column("a.y", "b.y")] };
  const now = { ...answer("a", "a>j1", "j1>b", "b>j2", "j2>c"), columns: [column("a.x", "b.x"), column("a.z", "b.z"), column("b.x", "c.x")] };
  const marked = (diff: DiffAnswer) => [...marksOf(diff, { now, then }).columnEdges].map(([key, mark]) => `${mark} ${(JSON.parse(key) as string[])[3] ?? ""}`);
  expect(marked({ ...DIFF, added: [] })).toEqual(["added z", "removed y"]);
  expect(marked({ ...DIFF, added: [id("c")] }), "c is new, not out of sight").toEqual(["added z", "added x", "removed y"]);
});

test("list contains each change once", () => {
  const lines = changesOf(DIFF).map((change) => `${change.mark} ${change.kind} ${change.text}: ${change.detail}`);
  expect(lines).toEqual([
    "added model new: model",
    "removed table dataset:n:db.old: table",
    "added task train: now reads weather",
    "added task : now writes ",
    "removed task train: no longer writes dataset:n:db.model",
    "changed table weather: + x: int\n+ z: date\n− y: int\n− z: text\n− bare",
    "changed task train: code 0123456 → abcdefa",
    "changed task job:n:dag.new: code unknown → unknown",
    "failed task load: 2026-01-01 02:00:00 UTC\nno disk",
    "failed task load: ",
  ]);
});

test("jobs name their pipeline", () => {
  expect(changesOf(DIFF).filter(({ above }) => above === "dag").map(({ text }) => text)).toContain("load");
});

test("changes are grouped by dataset and job; edges have both ends", () => {
  const sections = changeGroups(changesOf(DIFF)).map(({ type, groups }) => [type, groups.map(({ text, changes }) => `${text} ${changes.map(({ mark }) => mark).join()}`)]);
  expect(sections).toEqual([
    ["datasets", ["new added", "dataset:n:db.old removed", "weather changed"]],
    ["jobs", ["train added,removed,changed", " added", "job:n:dag.new changed", "load failed,failed"]],
  ]);
  expect(changeGroups([])).toEqual([]);
  expect(changesOf(DIFF).find(({ detail }) => detail === "now reads weather")?.ends).toEqual(READS);
});
