import { expect, test } from "vitest";
import { ganttOf, type RunTree } from "./gantt";

const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, "0")}:00Z`;

function run(name: string, from: number | null, to: number | null, others: object = {}): RunTree {
  return {
    runId: name, job: { namespace: "n", name }, state: to === null ? "RUNNING" : "COMPLETED",
    startedAt: from === null ? null : at(from), endedAt: to === null ? null : at(to), durationMs: null, ownId: null, platform: null, parameters: {}, error: null, hasMore: false, children: [], ...others,
  };
}

const NOW = Date.parse(at(20));

test("each run is a bar below its parent, in response order", () => {
  const tree = run("dag", 0, 10, { children: [run("a", 0, 4, { children: [run("q", 1, 3)] }), run("b", 5, 10)] });
  const { rows, length } = ganttOf(tree, NOW, "start");
  expect(length).toBe(600_000);
  expect(rows.map((row) => [row.run.runId, row.depth, row.left, row.width])).toEqual([["dag", 0, 0, 100], ["a", 1, 0, 40], ["q", 2, 10, 20], ["b", 1, 50, 50]]);
  expect(rows.map((row) => row.took)).toEqual(["10 min", "4 min", "2 min", "5 min"]);
  expect(rows[2]?.text).toBe("completed, from 2026-01-01 00:01:00 UTC, 2 min");
});

test("failed and slow child runs come first, or those that started first", () => {
  const tree = run("dag", 0, 10, { children: [run("fast", 0, 1), run("unknown", null, null, { state: "COMPLETED" }), run("slow", 0, 9), run("failed", 3, 4, { state: "FAILED" }), run("lost", 1, null, { state: "LOST" })] });
  const names = (order?: "start") => ganttOf(tree, NOW, order).rows.map((row) => row.run.runId).join(" ");
  expect(names()).toBe("dag failed lost slow fast unknown");
  expect(names("start")).toBe("dag fast unknown slow failed lost");
});

test("critical path leads back from the run that ended last", () => {
  const tree = run("dag", 0, 10, { children: [run("a", 0, 4), run("b", 0, 3), run("c", 4, 10, { children: [run("q", 5, 6), run("r", 6, 10)] }), run("d", 4, 8), run("none", null, null)] });
  const critical = ganttOf(tree, NOW, "start").rows.filter((row) => row.isCritical).map((row) => row.run.runId);
  expect(critical).toEqual(["a", "c", "q", "r"]);
});

test("running bar ends now, stale bar has no end, short bar is visible", () => {
  const tree = run("dag", 0, null, { children: [run("lost", 5, null, { state: "LOST" }), run("short", 20, 20)] });
  const { rows } = ganttOf(tree, NOW);
  expect(rows.map((row) => [row.left, row.width])).toEqual([[0, 100], [25, 0.6], [99.4, 0.6]]);
  expect(rows[1]?.took).toBe("");
  expect(rows[1]?.text).toBe("lost, from 2026-01-01 00:05:00 UTC, no end event");
});

test("run without a start has no bar", () => {
  const { rows, length } = ganttOf(run("dag", null, null), NOW);
  expect([length, rows[0]?.width, rows[0]?.text]).toEqual([0, 0, "running, no start reported"]);
});
