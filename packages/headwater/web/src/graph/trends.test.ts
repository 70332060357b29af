import { expect, test } from "vitest";
import { checkMatrix, rowsTrend } from "./trends";

const wrote = (at: number, rows: number | null) => ({ at: `t${at}`, rows, run: { runId: `r${at}` } });

test("newest rows are compared with the median of the versions before", () => {
  const trend = rowsTrend([wrote(4, 62), wrote(3, 110), wrote(2, null), wrote(1, 100), wrote(0, 90)]);
  expect([trend?.median, trend?.change]).toEqual([100, -38]);
  expect(trend?.bars.map((bar) => [bar.runId, Math.round(bar.height)])).toEqual([["r0", 82], ["r1", 91], ["r3", 100], ["r4", 56]]);
});

test("too few versions and a median of 0 have no change", () => {
  expect(rowsTrend([wrote(1, 5), wrote(0, 4), wrote(2, null)])).toBeNull();
  expect(rowsTrend([wrote(2, 5), wrote(1, 0), wrote(0, 0)])?.change).toBeNull();
});

const check = (at: number, ...results: [string, boolean | null][]) => ({
  at: `t${at}`,
  run: null,
  assertions: results.map(([assertion, success]) => ({ assertion, column: "id", ...(success === null ? { status: "not run" } : { success }) })),
});

test("matrix has a row per assertion, recent failures first", () => {
  const matrix = checkMatrix([check(3, ["unique", true], ["old", false]), check(2), check(1, ["unique", false], ["unique", true]), check(0, ["new", null])]);
  expect(matrix?.times).toEqual(["t0", "t1", "t3"]);
  expect(matrix?.rows).toEqual([
    { name: "old id", results: [null, null, "failed"] },
    { name: "unique id", results: [null, "failed", "passed"] },
    { name: "new id", results: ["notRun", null, null] },
  ]);
});

test("a single check has no matrix, and older checks are counted", () => {
  expect(checkMatrix([check(0, ["unique", true])])).toBeNull();
  const many = Array.from({ length: 25 }, (_, at) => check(at, ["unique", true]));
  expect([checkMatrix(many)?.times.length, checkMatrix(many)?.hidden]).toEqual([20, 5]);
});
