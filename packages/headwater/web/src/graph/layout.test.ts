import { expect, test } from "vitest";
import { around, beside, framing, freeCorner, into, isWithin, meet, moved, outline, showing, sizeOf, viewportFor } from "./layout";

test("node height grows with its columns, up to ten", () => {
  const heights = [null, 0, 3, 10, 11, 99].map((columns) => sizeOf(columns).height);
  expect(heights).toEqual([...heights].sort((a, b) => a - b));
  expect(heights[4]).toBe(heights[5]);
});

const WINDOW = { width: 1000, height: 600 };
const box = (x: number, y = 0) => ({ x, y, width: 200, height: 80 });

test("small graph is centered at no more than full size", () => {
  const { x, y, zoom } = viewportFor([box(0), box(300)], WINDOW, box(0));
  expect(zoom).toBeCloseTo(1.1);
  expect([x + 250 * zoom, y + 40 * zoom]).toEqual([500, 282]);
});

test("large graph is readable around the root unless fitted", () => {
  const boxes = [box(0), box(2_000), box(4_000)];
  const whole = viewportFor(boxes, WINDOW, null);
  expect(whole.x + 4_200 * whole.zoom).toBeLessThanOrEqual(1_000);
  const near = viewportFor(boxes, WINDOW, box(2_000));
  expect(near.zoom).toBeGreaterThan(whole.zoom);
  expect(near.x + 2_100 * near.zoom).toBeCloseTo(500);
});

test.each([
  ["first", 0],
  ["last", 4_000],
])("root that is the %s has no empty space beside it", (_, at) => {
  const { x, zoom } = viewportFor([box(0), box(4_000)], WINDOW, box(at));
  expect(at === 0 ? x : 1_000 - (x + 4_200 * zoom)).toBeCloseTo(28);
});

test("partial graph leaves room for the overview", () => {
  const { y, zoom } = viewportFor([box(0), box(4_000, 700)], WINDOW, box(4_000, 700), 112);
  expect(y + 780 * zoom).toBeCloseTo(600 - 112);
});

test("overview is in the first corner where it covers no node", () => {
  const [at, item] = [{ x: 0, y: 0, zoom: 1 }, { width: 150, height: 110 }];
  const covered = [box(790, 500), box(790, 20), box(0)];
  expect([0, 1, 2, 3].map((count) => freeCorner(covered.slice(0, count), at, WINDOW, item))).toEqual(["bottom-right", "top-right", "top-left", null]);
  expect(freeCorner(covered, { ...at, zoom: 0.5 }, WINDOW, item), "nodes are elsewhere at another zoom").toBe("bottom-right");
});

test("boxes that only touch do not overlap", () => {
  expect([box(199, 79), box(200), box(0, 80), box(-200), box(0, -79)].map((other) => meet(box(0), other))).toEqual([true, false, false, false, true]);
});

test("hidden box moves into the window by the shortest distance", () => {
  const at = { x: 10, y: 20, zoom: 0.5 };
  expect(into(at, box(0), WINDOW)).toEqual(at);
  expect(into(at, box(1_900), WINDOW)).toEqual({ ...at, x: 1_000 - 28 - 2_100 * 0.5 });
  expect(into(at, box(0, -200), WINDOW)).toEqual({ ...at, y: 128 });
  expect(into(at, { x: 50, y: 0, width: 4_000, height: 80 }, WINDOW).x, "of what is too wide its beginning").toBe(-25);
});

test("arrow keys go to the nearest node ahead", () => {
  const boxes = new Map([["a", box(0)], ["b", box(300)], ["c", box(600)], ["below", box(300, 120)]]);
  expect(beside(boxes, "a", "ArrowRight")).toBe("b");
  expect(beside(boxes, "c", "ArrowLeft")).toBe("b");
  expect(beside(boxes, "b", "ArrowDown")).toBe("below");
  expect(beside(boxes, "below", "ArrowUp")).toBe("b");
  expect(beside(boxes, "c", "ArrowRight")).toBeNull();
  expect(beside(boxes, "gone", "ArrowRight")).toBeNull();
  expect(beside(boxes, "a", "Enter")).toBeNull();
});

test("boxes have a bounding box and one outline path", () => {
  const boxes = [
    { x: -5, y: 2, width: 10, height: 4 },
    { x: 1, y: -1, width: 20, height: 1 },
  ];
  expect(around(boxes)).toEqual({ x: -5, y: -1, width: 26, height: 7 });
  expect(outline(boxes)).toBe("M-5 2h10v4h-10zM1 -1h20v1h-20z");
});

test("expanded node is moved into view", () => {
  const at = { x: 0, y: 0, zoom: 1 };
  const tall = (x: number, y = 0) => ({ x, y, width: 200, height: 480 });
  expect(showing(at, [tall(10)], [tall(10), box(5_000)], WINDOW)).toBe(at);
  expect(showing(at, [], [box(5_000)], WINDOW)).toBe(at);
  const whole = showing(at, [tall(0, 100)], [tall(0, 100), box(300)], WINDOW);
  expect(whole.zoom).toBeLessThan(1);
  expect(isWithin(whole, around([tall(0, 100), box(300)]), WINDOW)).toBe(true);
  const part = showing(at, [tall(3_000, 100), box(3_300)], [box(0), tall(3_000, 100), box(3_300)], WINDOW);
  expect(isWithin(part, around([tall(3_000, 100), box(3_300)]), WINDOW)).toBe(true);
  expect(showing({ ...at, zoom: 0.3 }, [tall(0, 3_000)], [tall(0, 3_000)], WINDOW).zoom, "no nearer than it was").toBeLessThanOrEqual(0.3);
});

test("added nodes are moved into view at a readable size", () => {
  const at = { x: 0, y: 0, zoom: 1 };
  expect(moved(at, [box(300), box(10)], [box(300), box(10)], WINDOW)).toEqual(at);
  expect(moved(at, [box(900), box(600)], [box(600), box(900)], WINDOW), "no further than it takes").toEqual({ x: 1_000 - 28 - 1_100, y: 0, zoom: 1 });
  expect(moved(at, [box(0, 500), box(0, 400)], [box(0, 400)], WINDOW).y, "above the buttons").toBe(600 - 64 - 28 - 580);
  const wide = [box(3_000), box(0)];
  const { x, zoom } = moved(at, wide, wide, WINDOW);
  expect([x + 3_000 * zoom > 0, x + 3_200 * zoom < 1_000]).toEqual([true, true]);
});

test("phone shows a whole node at a readable size", () => {
  const [phone, first] = [{ width: 390, height: 540 }, { x: 352, y: 0, width: 280, height: 78 }];
  const at = viewportFor([{ ...first, x: 0 }, first, { ...first, x: 704 }], phone, first);
  expect(at.zoom).toBeGreaterThanOrEqual(0.8);
  expect(isWithin(at, first, phone)).toBe(true);
  expect(showing({ x: -1_000, y: 0, zoom: 1 }, [first], [{ ...first, x: 0 }, first], phone).zoom).toBeGreaterThanOrEqual(0.8);
});

test("two ends are fitted together unless both are readable", () => {
  const ends = [box(0), box(2_000)];
  const far = framing({ x: 0, y: 0, zoom: 1 }, ends, WINDOW);
  expect(isWithin(far, around(ends), WINDOW)).toBe(true);
  const near = { x: 10, y: 10, zoom: 0.9 };
  expect(framing(near, [box(0), box(300)], WINDOW)).toBe(near);
  expect(framing({ ...near, zoom: 0.2 }, [box(0), box(300)], WINDOW).zoom).toBeGreaterThan(0.85);
});
