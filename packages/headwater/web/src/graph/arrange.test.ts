import ELK from "elkjs/lib/elk.bundled.js";
import { describe, expect, test } from "vitest";
import { answer, id } from "../test/graphs";
import { arrange, directionFor, type Arrangement, type Room } from "./arrange";
import type { Direction } from "./types";
import { blockOf, toElk } from "./block";
import { around, meet, sizeOf, type Box, type Place } from "./layout";
import { SIZES } from "./sizes";
import { merge } from "./merge";
import { linePath } from "./route";
import type { Graph } from "./types";

const { width, body } = SIZES;
const elk = new ELK();
const layOut = (graph: Parameters<typeof elk.layout>[0]) => elk.layout(graph);
const SCREEN = { width: 1440, height: 632 };
const WIDE = { width: 4_000, height: 4_000 };
const PHONE = { width: 390, height: 576 };

/** The demo's graph: two sources, an ingestion pipeline of three tasks, and a training pipeline of four. */
const DEMO = graphOf(
  ["u1>j1", "u2>j1", "j1>l1", "j1>l2", "l1>j2", "l2>j2", "j2>staging", "staging>j3", "j3>raw", "raw>j4", "j4>actuals", "actuals>j5", "j5>data", "data>j6", "j6>model", "model>j7", "j7>forecast", "j4~j5", "j5~j6", "j0~j4"],
  { jY: ["j1", "j2", "j3"], jT: ["j4", "j5", "j6", "j7", "j0"] },
);

function graphOf(edges: string[], pipelines: Record<string, string[]> = {}): Graph {
  const graph = merge([answer("raw", ...edges)]);
  const owner = new Map(Object.entries(pipelines).flatMap(([pipeline, jobs]) => jobs.map((job) => [id(job), id(pipeline)] as const)));
  for (const node of graph.nodes.values()) if (node.type === "job") node.pipeline = owner.get(node.id) ?? null;
  return graph;
}

const arranged = ({ nodes, edges }: Graph, direction: Direction, room: Room, columns: Record<string, number> = {}) =>
  arrange([...nodes.values()], edges, (node) => columns[node] ?? null, { direction, room }, layOut);

function boxesOf({ places }: Arrangement): Map<string, Box> {
  return new Map([...places].map(([node, place]) => [node, { ...place, ...sizeOf(null) }]));
}

/** Return the zoom that fits the whole graph. */
function zoomIn(found: Arrangement, { width, height }: Room): number {
  const all = around([...boxesOf(found).values(), ...found.frames]);
  return Math.min((width - 56) / all.width, (height - 92) / all.height);
}

/** Return 20 points of each segment of an edge's SVG path. */
function pointsOf(path: string): Place[] {
  let from = { x: 0, y: 0 };
  return [...path.matchAll(/([MLQC])([^MLQC]*)/g)].flatMap(([, command, rest = ""]) => {
    const numbers = rest.trim().split(" ").map(Number);
    const ends = numbers.flatMap((x, at) => (at % 2 === 0 ? [{ x, y: numbers[at + 1] as number }] : []));
    const control = [command === "M" ? (ends[0] as Place) : from, ...ends];
    from = ends.at(-1) as Place;
    return Array.from({ length: 21 }, (_, step) => bezier(control, step / 20));
  });
}

/** Return a point of a Bézier curve by De Casteljau's algorithm. */
function bezier(points: readonly Place[], share: number): Place {
  const [first = { x: 0, y: 0 }, ...rest] = points;
  if (rest.length === 0) return first;
  return bezier(rest.map(({ x, y }, at) => ({ x: (points[at] as Place).x * (1 - share) + x * share, y: (points[at] as Place).y * (1 - share) + y * share })), share);
}

/** Return the edges that lie under a node. */
function hidden(found: Arrangement, { edges }: Graph): string[] {
  const boxes = boxesOf(found);
  const isDown = found.direction === "down";
  return edges.flatMap((edge) => {
    const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)] as [Box, Box];
    const ends = isDown ? [{ x: from.x + width / 2, y: from.y + body }, { x: to.x + width / 2, y: to.y }] : [{ x: from.x + width, y: from.y + body / 2 }, { x: to.x, y: to.y + body / 2 }];
    const points = pointsOf(linePath(ends[0] as Place, found.corners.get(edge) ?? [], ends[1] as Place, isDown));
    const isUnder = points.some(({ x, y }) => [...boxes.values()].some((box) => x > box.x + 2 && x < box.x + width - 2 && y > box.y + 2 && y < box.y + body - 2));
    return isUnder ? [`${edge.from} > ${edge.to}`] : [];
  });
}

describe("the demo's graph", () => {
  test.each<[string, Direction, Room]>([
    ["from left to right", "right", SCREEN],
    ["from top to bottom", "down", SCREEN],
    ["on a phone", "down", PHONE],
    ["from left to right on a phone", "right", PHONE],
  ])("%s has no overlapping nodes, no nodes outside their frame and no hidden edges", async (_, direction, room) => {
    const found = await arranged(DEMO, direction, room);
    const boxes = [...boxesOf(found)];
    expect(boxes).toHaveLength(DEMO.nodes.size);
    expect(boxes.filter(([node, box]) => boxes.some(([other, there]) => node < other && meet(box, there)))).toEqual([]);
    for (const { frame, ...area } of found.frames) {
      const inside = boxes.filter(([, box]) => meet(box, area)).map(([node]) => node);
      expect(inside.sort()).toEqual([...frame.members].sort());
    }
    expect(hidden(found, DEMO)).toEqual([]);
  });

  test("is whole on a screen, in rows of whole pipelines, and readable in width on a phone", async () => {
    const screen = await arranged(DEMO, "right", SCREEN);
    expect(zoomIn(screen, SCREEN)).toBeGreaterThanOrEqual(0.6);
    const topsOf = (...names: string[]) => new Set(names.map((name) => screen.places.get(id(name))?.y));
    expect(topsOf("j4", "actuals", "j5", "data", "j6", "model", "j7"), "a pipeline is one line").toHaveLength(1);
    expect(topsOf("staging", "model")).toHaveLength(2);
    const phone = await arranged(DEMO, "down", PHONE);
    expect(around([...boxesOf(phone).values(), ...phone.frames]).width * 0.8).toBeLessThan(PHONE.width);
  });

  test("is one line if it fits, or if rows do not fit either", async () => {
    for (const room of [{ width: 4_000, height: 632 }, { width: 800, height: 500 }]) {
      const { frames } = await arranged(DEMO, "right", room);
      expect(frames).toHaveLength(2);
      expect((frames[0] as Box).x).not.toBe((frames[1] as Box).x);
      expect((frames[0] as Box).y).toBeLessThan((frames[1] as Box).y + (frames[1] as Box).height);
      expect((frames[1] as Box).y).toBeLessThan((frames[0] as Box).y + (frames[0] as Box).height);
    }
  });

  test("goes from left to right on a wide screen, otherwise from top to bottom", () => {
    expect([SCREEN, PHONE, { width: 720, height: 1100 }].map(directionFor)).toEqual(["right", "down", "down"]);
  });
});

test("expanded columns increase a node's height in both directions", async () => {
  const small = graphOf(["raw>j1", "j1>b"]);
  for (const direction of ["right", "down"] as const) {
    const [plain, open] = await Promise.all([arranged(small, direction, WIDE), arranged(small, direction, WIDE, { [id("raw")]: 10 })]);
    const end = ({ places }: Arrangement) => Math.max(...[...places.values()].map(({ x, y }) => (direction === "right" ? x : y)));
    expect(end(open) - end(plain)).toBe(direction === "right" ? 0 : 324);
  }
});

test("graphs of one node and of no nodes are laid out", async () => {
  expect((await arranged(graphOf([]), "right", SCREEN)).places.size).toBe(1);
  expect((await arrange([], [], () => null, { direction: "right", room: SCREEN }, layOut)).places.size).toBe(0);
});

test("graphs without pipelines are not wrapped", async () => {
  const edges = Array.from({ length: 80 }, (_, nth) => [`d${nth}>j${nth}`, `j${nth}>d${nth + 1}`]).flat();
  const { places } = await arranged(graphOf(edges), "right", SCREEN);
  expect(new Set([...places.values()].map(({ y }) => y)).size).toBeLessThan(3);
  const many = Array.from({ length: 301 }, (_, nth) => ({ id: `d${nth}`, along: 204, across: 114 }));
  expect(toElk(many, []).layoutOptions).not.toEqual(toElk(many.slice(1), []).layoutOptions);
});

test("backward edges and edges between rows go around nodes", async () => {
  const loops = graphOf(
    ["raw>j1", "j1>b", "b>j2", "j2>c", "c>j3", "j3>d", "d>j4", "j4>e", "e>j5", "j5>raw", "raw>j5", "b>j5", "c>j1"],
    { jP: ["j1", "j2", "j3"], jQ: ["j4", "j5"] },
  );
  for (const room of [SCREEN, { width: 900, height: 900 }, { width: 700, height: 500 }]) {
    for (const direction of ["right", "down"] as const) expect(hidden(await arranged(loops, direction, room), loops), `${direction} ${room.width}`).toEqual([]);
  }
});

test("edges into and out of the middle of a frame go around nodes", async () => {
  const middle = graphOf(["raw>j1", "j1>m", "m>j2", "j2>n", "n>j3", "j3>o", "j1>x", "x>j9", "y>j3", "z>j2"], { jP: ["j1", "j2", "j3"] });
  for (const direction of ["right", "down"] as const) expect(hidden(await arranged(middle, direction, SCREEN), middle)).toEqual([]);
});

test("edges over several layers go around nodes", async () => {
  const layers = graphOf(["trips>j1", "j1>raw", "raw>j2", "j2>counted", "trips>j3", "raw>j3", "counted>j3", "j3>reported"]);
  for (const direction of ["right", "down"] as const) {
    for (const room of [SCREEN, WIDE, PHONE]) expect(hidden(await arranged(layers, direction, room), layers), `${direction} ${room.width}`).toEqual([]);
  }
});

test("block has rows of similar length that begin with a frame", () => {
  const rows = (most: number, ...frames: number[]) => {
    const children = Array.from({ length: 5 }, (_, nth) => ({ id: `${frames.includes(nth) ? "frame " : ""}${nth}`, x: nth * 100, y: nth, width: 80, height: 50 }));
    return blockOf({ id: "g", children }, most).rows.map((row) => row.layers.length);
  };
  expect([rows(1, 1, 3), rows(2, 1, 3), rows(2, 1), rows(3, 1, 3), rows(9)]).toEqual([[5], [3, 2], [1, 4], [1, 2, 2], [5]]);
  expect(blockOf({ id: "g" }, 2)).toMatchObject({ along: 0, across: 0 });
  expect(blockOf({ id: "g", children: [{ id: "bare" }] }, 1).spots.get("bare")).toMatchObject({ u: 0, v: 0, along: 0, across: 0 });
});
