import { expect, test } from "vitest";
import { answer, column, id } from "../test/graphs";
import { merge } from "./merge";
import { cornersOf, linePath, throughJobs } from "./route";
import type { LineageEdge } from "./types";

const at = (x: number, y = 0) => ({ x, y });

test("lines that lead back or over several layers have elk's corners between their ends, and those with a clear way none", () => {
  const { edges } = merge([answer("m", "m>j1", "j1>m", "m>j2", "m>j3", "m>j4")]);
  const bends = [at(5, 50), at(0, 50)];
  const section = (from: number, to: number, bendPoints = [at(9, 30), ...bends]) => [{ id: "s", startPoint: at(from), endPoint: at(to), bendPoints }];
  const laid = { id: "graph", edges: [
    { id: "0", sources: [], targets: [], sections: section(0, 5) },
    { id: "1", sources: [], targets: [], sections: section(5, 0) },
    { id: "2", sources: [], targets: [] },
    { id: "3", sources: [], targets: [], sections: section(0, 5, []) },
    { id: "4", sources: [], targets: [], sections: [{ id: "s", startPoint: at(5), endPoint: at(0) }] },
  ] }; // prettier-ignore
  expect([...cornersOf(laid, edges)]).toEqual([[edges[0], bends], [edges[1], bends], [edges[4], []]]);
  expect(cornersOf({ id: "graph" }, edges).size).toBe(0);
});

test("a line that leads on is level at its ends and at its corners", () => {
  expect(linePath(at(0, 10), [], at(100, 50))).toBe("M0 10C50 10 50 50 100 50");
  expect(linePath(at(0, 10), [at(40, 90)], at(100, 50))).toBe("M0 10C20 10 20 90 40 90C70 90 70 50 100 50");
});

test("a line that leads back is square to its ends and round at its corners", () => {
  const corners = [at(300, 200), at(100, 200)];
  const path = linePath(at(300, 50), corners, at(100, 100));
  expect(path).toBe("M300 50L312 50Q324 50 324 64L324 186Q324 200 312 200L312 200Q300 200 286 200L114 200Q100 200 88 200L88 200Q76 200 76 186L76 114Q76 100 88 100L100 100");
  expect(linePath(at(300, 50), [], at(100, 50)), "corners in one place").not.toContain("NaN");
});

const PLACES = new Map([["a", 0], ["j1", 400], ["b", 800]].map(([name, x]) => [id(name as string), at(x as number)]));

function ways(edges: string[], lines: ReturnType<typeof column>[], corners: Record<number, { x: number; y: number }[]> = {}, places = PLACES) {
  const graph = merge([answer("a", ...edges)]);
  const found = throughJobs(lines, graph.edges, new Map(Object.entries(corners).map(([place, way]) => [graph.edges[Number(place)] as LineageEdge, way])), places);
  return lines.map((line) => found.get(line));
}

test("lines between columns go behind the job between them, each at a height of its own in their order", () => {
  const [first, second] = ways(["a>j1", "j1>b"], [column("a.x", "b.x"), column("a.y", "b.y")]);
  expect(first).toEqual([at(400, 26), at(680, 26)]);
  expect(second).toEqual([at(400, 52), at(680, 52)]);
});

test("a line between columns takes the way of its job's lines", () => {
  expect(ways(["a>j1", "j1>b"], [column("a.x", "b.x")], { 0: [at(300, 90)], 1: [at(700, 95)] })).toEqual([[at(300, 90), at(400, 39), at(680, 39), at(700, 95)]]);
  expect(ways(["a>j1", "j1>a"], [column("a.x", "a.y")], { 1: [at(680, 90), at(0, 90)] }), "it leads back").toEqual([[at(680, 90), at(0, 90)]]);
});

test("a line between columns without a job between them that has its place goes straight", () => {
  expect(ways(["a>b"], [])).toEqual([]);
  expect(ways(["a>b"], [column("a.x", "b.x")])).toEqual([undefined]);
  expect(ways(["a>j1", "j2>b"], [column("a.x", "b.x")])).toEqual([undefined]);
  expect(ways(["a>j1", "j1>b"], [column("a.x", "b.x")], {}, new Map())).toEqual([undefined]);
});
