import { expect, test } from "vitest";
import { durationsOf } from "./durations";

const runs = (...seconds: (number | null)[]) => seconds.map((duration, nth) => ({ runId: `r${nth}`, state: "COMPLETED", startedAt: "2026-01-01T00:00:00Z", durationMs: duration === null ? null : 1_000 * duration }));

test("median includes completed runs only, and bars start with the oldest", () => {
  const [failed] = runs(100);
  const durations = durationsOf([...runs(10, 20, null, 40), { ...failed, runId: "failed", state: "FAILED", startedAt: "", durationMs: 80_000 }]);
  expect(durations).toMatchObject({ median: 20_000, medianHeight: 25 });
  expect(durations?.bars.map(({ runId, height, isFailed }) => [runId, height, isFailed])).toEqual([["failed", 100, true], ["r3", 50, false], ["r1", 25, false], ["r0", 12.5, false]]);
});

test.each([
  ["a long and a short run", [60, 61, 62, 60, 300, 5, 63], ["r4", "r5"]],
  ["nearly equal runs", [60, 60, 60, 60, 61], []],
  ["one run among equal ones", [60, 60, 60, 60, 90], ["r4"]],
  ["too few runs", [1, 1, 1, 900], []],
])("outliers are far outside the middle half: %s", (_, seconds, outliers) => {
  expect([...(durationsOf(runs(...seconds))?.outliers ?? [])].sort()).toEqual(outliers);
});

test("one run has no durations to compare", () => {
  expect(durationsOf(runs(10, null))).toBeNull();
});
