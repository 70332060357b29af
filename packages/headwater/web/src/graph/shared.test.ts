import { expect, test } from "vitest";
import type { Viewport } from "./layout";
import { isSame, sharedViewport } from "./shared";

test("viewport is sent to the other current followers", () => {
  const shared = sharedViewport();
  const received: string[] = [];
  const follow = (name: string) => ({ zoom }: Viewport) => void received.push(`${name} ${zoom}`);
  const [a, b, c] = [follow("a"), follow("b"), follow("c")];
  const [, , leave] = [a, b, c].map((follower) => shared.join(follower));
  shared.notify({ x: 0, y: 0, zoom: 1 }, a);
  leave?.();
  shared.notify({ x: 0, y: 0, zoom: 2 }, b);
  expect(received).toEqual(["b 1", "c 1", "a 2"]);
});

test("viewports within half a pixel are equal", () => {
  const at = { x: 1, y: 2, zoom: 1 };
  expect([isSame(at, { ...at, x: 1.2 }), isSame(at, { ...at, y: 3 }), isSame(at, { ...at, zoom: 1.1 })]).toEqual([true, false, false]);
});
