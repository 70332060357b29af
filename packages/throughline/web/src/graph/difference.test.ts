import { expect, test } from "vitest";
import { changesOf, marksOf, type DiffAnswer } from "./difference";

const READS = ["dataset:n:db.weather", "job:n:dag.train"];
const WRITES = ["job:n:dag.train", "dataset:n:db.model"];
const TOLD = {
  level: "task",
  nodes: {
    "dataset:n:db.new": { type: "dataset", namespace: "n", name: "db.new" },
    "dataset:n:db.weather": { type: "dataset", namespace: "n", name: "db.weather" },
    "job:n:dag.train": { type: "job", namespace: "n", name: "dag.train" },
  },
  added: ["dataset:n:db.new"],
  removed: ["dataset:n:db.old"],
  edgesAdded: [READS, ["job:n:dag.load", "dataset:n:db.new"], []],
  edgesRemoved: [WRITES],
  schemas: [{ node: "dataset:n:db.weather", added: ["x: int"], removed: ["y: int"] }],
  code: [
    { node: "job:n:dag.train", from: "0123456789", to: "abcdefabcd", isSourceChanged: false },
    { node: "job:n:dag.new", from: null, to: null, isSourceChanged: true },
  ],
  failed: [
    { runId: "r", job: { namespace: "n", name: "dag.load" }, state: "FAILED", startedAt: null, endedAt: null, durationMs: null, error: "no disk" },
    { runId: "s", job: { namespace: "n", name: "dag.load" }, state: "FAILED", startedAt: null, endedAt: null, durationMs: null, error: null },
  ],
} as unknown as DiffAnswer;

test("every node and edge that is other is marked", () => {
  const { marks, edges } = marksOf(TOLD);
  expect(Object.fromEntries(marks)).toMatchObject({ "dataset:n:db.new": "added", "dataset:n:db.old": "removed", "job:n:dag.train": "changed" });
  expect(edges.get(READS.join(" "))).toBe("added");
  expect(edges.get(WRITES.join(" "))).toBe("removed");
});

test("the list says each change once, in words", () => {
  const told = changesOf(TOLD).map((change) => `${change.mark} ${change.text}: ${change.detail}`);
  expect(told).toEqual([
    "added new: dataset",
    "removed dataset:n:db.old: ",
    "added train: now reads weather",
    "added : now writes ",
    "removed train: no longer writes dataset:n:db.model",
    "changed weather: + x: int\n− y: int",
    "changed train: code 0123456 → abcdefa",
    "changed job:n:dag.new: code unknown → unknown",
    "failed load: no disk",
    "failed load: ",
  ]);
});
