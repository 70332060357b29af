import { expect, test } from "vitest";
import { answer } from "../test/graphs";
import { merge } from "./merge";
import { backPath, backsOf } from "./route";

test("lines that lead back have elk's corners between their ends, and those that lead on none", () => {
  const { edges } = merge([answer("m", "m>j1", "j1>m", "m>j2")]);
  const at = (x: number) => ({ x, y: 0 });
  const bends = [{ x: 5, y: 50 }, { x: 0, y: 50 }];
  const section = (from: number, to: number) => [{ id: "s", startPoint: at(from), endPoint: at(to), bendPoints: [{ x: 9, y: 30 }, ...bends] }];
  const laid = { id: "graph", edges: [
    { id: "0", sources: [], targets: [], sections: section(0, 5) },
    { id: "1", sources: [], targets: [], sections: section(5, 0) },
    { id: "2", sources: [], targets: [] },
  ] }; // prettier-ignore
  expect([...backsOf(laid, edges)]).toEqual([[edges[1], bends]]);
  expect([...backsOf({ ...laid, edges: [{ id: "1", sources: [], targets: [], sections: [{ id: "s", startPoint: at(5), endPoint: at(0) }] }] }, edges).values()]).toEqual([[]]);
  expect(backsOf({ id: "graph" }, edges).size).toBe(0);
});

test("a line that leads back is square to its ends and round at its corners", () => {
  const corners = [{ x: 300, y: 200 }, { x: 100, y: 200 }];
  const path = backPath({ x: 300, y: 50 }, corners, { x: 100, y: 100 });
  expect(path).toBe("M300 50L312 50Q324 50 324 64L324 186Q324 200 312 200Q300 200 286 200L114 200Q100 200 88 200Q76 200 76 186L76 114Q76 100 88 100L100 100".replace("Q324 200 312 200Q", "Q324 200 312 200L312 200Q").replace("88 200Q76", "88 200L88 200Q76"));
  expect(backPath({ x: 300, y: 50 }, [], { x: 100, y: 50 }), "corners in one place").not.toContain("NaN");
});
