import { expect, test } from "vitest";
import { answer, column, id } from "../test/graphs";
import { merge } from "./merge";
import { SIZES } from "./sizes";
import { besidePath, linePath, throughJobs } from "./route";
import type { LineageEdge } from "./types";

const at = (x: number, y = 0) => ({ x, y });
const { width, body } = SIZES;

test("forward line is level at its ends and corners", () => {
  expect(linePath(at(0, 10), [], at(100, 50))).toBe("M0 10C50 10 50 50 100 50");
  expect(linePath(at(0, 10), [at(40, 90)], at(100, 50))).toBe("M0 10C20 10 20 90 40 90C70 90 70 50 100 50");
});

test("backward line leaves and enters level, with round corners", () => {
  const corners = [at(300, 200), at(100, 200)];
  const path = linePath(at(300, 50), corners, at(100, 100));
  expect(path).toBe("M300 50L312 50Q324 50 324 64L324 186Q324 200 312 200L312 200Q300 200 286 200L114 200Q100 200 88 200L88 200Q76 200 76 186L76 114Q76 100 88 100L100 100");
  expect(linePath(at(300, 50), [], at(100, 50)), "corners in one place").not.toContain("NaN");
});

test("line around rows has round corners in both directions", () => {
  const corners = [at(310, 50), at(310, 120), at(-10, 120), at(-10, 200)];
  const path = "M300 50L305 50Q310 50 310 64L310 106Q310 120 296 120L4 120Q-10 120 -10 134L-10 186Q-10 200 -5 200L0 200";
  expect(linePath(at(300, 50), corners, at(0, 200))).toBe(path);
  const turned = (points: { x: number; y: number }[]) => points.map(({ x, y }) => at(y, x));
  const [from, to] = turned([at(300, 50), at(0, 200)]) as [ReturnType<typeof at>, ReturnType<typeof at>];
  expect(linePath(from, turned(corners), to, true)).toBe("M50 300L50 305Q50 310 64 310L106 310Q120 310 120 296L120 4Q120 -10 134 -10L186 -10Q200 -10 200 -5L200 0");
  expect(linePath(at(0, 10), [], at(40, 100), true)).toBe("M0 10C0 55 40 55 40 100");
});

test("vertical column lines go below a node, behind the job and above the other node", () => {
  const graph = merge([answer("a", "a>j1", "j1>b")]);
  const places = new Map([["a", 0], ["j1", 300], ["b", 500]].map(([name, y]) => [id(name as string), at(0, y as number)]));
  const lines = [column("a.x", "b.x"), column("a.y", "b.y"), column("a.y", "gone.y")];
  const found = throughJobs(lines, graph.edges, new Map(), places, () => 200);
  expect([...found.values()]).toEqual([
    [at(width, 210), at(width / 2 - 14, 210), at(width / 2 - 14, 300), at(width / 2 - 14, 300 + body), at(width / 2 - 14, 492), at(0, 492)],
    [at(width, 212), at(width / 2 - 10, 212), at(width / 2 - 10, 300), at(width / 2 - 10, 300 + body), at(width / 2 - 10, 490), at(0, 490)],
  ]);
  expect(besidePath(at(280, 100), [at(280, 210), at(0, 210)], at(0, 300))).toMatch(/^M280 100L.*L0 300$/);
  places.delete(id("b"));
  expect(throughJobs(lines.slice(0, 1), graph.edges, new Map(), places, () => 200).size).toBe(1);
});

const PLACES = new Map([["a", 0], ["j1", 400], ["b", 800]].map(([name, x]) => [id(name as string), at(x as number)]));

function routes(edges: string[], lines: ReturnType<typeof column>[], corners: Record<number, { x: number; y: number }[]> = {}, places = PLACES) {
  const graph = merge([answer("a", ...edges)]);
  const found = throughJobs(lines, graph.edges, new Map(Object.entries(corners).map(([place, route]) => [graph.edges[Number(place)] as LineageEdge, route])), places);
  return lines.map((line) => found.get(line));
}

test("column lines pass behind the job at different heights", () => {
  const [first, second] = routes(["a>j1", "j1>b"], [column("a.x", "b.x"), column("a.y", "b.y")]);
  expect(first).toEqual([at(400, body / 3), at(400 + width, body / 3)]);
  expect(second).toEqual([at(400, (2 * body) / 3), at(400 + width, (2 * body) / 3)]);
});

test("column line follows its job's lines", () => {
  expect(routes(["a>j1", "j1>b"], [column("a.x", "b.x")], { 0: [at(300, 90)], 1: [at(700, 95)] })).toEqual([[at(300, 90), at(400, body / 2), at(400 + width, body / 2), at(700, 95)]]);
  expect(routes(["a>j1", "j1>a"], [column("a.x", "a.y")], { 1: [at(680, 90), at(0, 90)] }), "backward line").toEqual([[at(680, 90), at(0, 90)]]);
});

test("column line without a placed job is straight", () => {
  expect(routes(["a>b"], [])).toEqual([]);
  expect(routes(["a>b"], [column("a.x", "b.x")])).toEqual([undefined]);
  expect(routes(["a>j1", "j2>b"], [column("a.x", "b.x")])).toEqual([undefined]);
  expect(routes(["a>j1", "j1>b"], [column("a.x", "b.x")], {}, new Map())).toEqual([undefined]);
});
