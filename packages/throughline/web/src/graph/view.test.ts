import { expect, test } from "vitest";
import { id } from "../test/graphs";
import { addressOf, DEEPEST, fold, formatView, grip, grow, held, keeping, NEW_VIEW, parseView, type View } from "./view";

const FULL: View = {
  node: "dataset:s3://lake:a b&c",
  up: 3,
  down: 0,
  level: "query",
  grown: [grip("up", "job:n:x"), grip("down", "dataset:s3://l:y")],
  folded: [grip("down", "job:n:z")],
  datasetsOnly: true,
  control: false,
  lit: id("j1"),
  open: "run:1",
  tab: "schema",
  columns: [id("a"), id("b")],
  column: `${id("a")}|x`,
  at: "2026-01-01T00:00:00Z",
  from: "2025-12-01T00:00:00Z",
};

test.each([
  ["a new view", { ...NEW_VIEW, node: "t" }],
  ["a full view", FULL],
])("%s is the same after it was an address", (_, view) => {
  expect(parseView(new URL(formatView(view), "http://h").search)).toEqual(view);
});

test("what is as in a new view is not in the address", () => {
  expect(addressOf("t")).toBe("/lineage?node=t");
  expect(addressOf("t", { up: 2 })).toBe("/lineage?node=t&up=2");
});

test("what an address says wrongly is as in a new view", () => {
  expect(parseView("?node=t&up=x&down=1.5&level=all&grown=left:a&folded=")).toEqual({ ...NEW_VIEW, node: "t" });
  expect(parseView("?up=1000&down=-3")).toMatchObject({ up: DEEPEST, down: 0 });
});

test("a node that is opened and closed on a side is folded, and opening unfolds it", () => {
  const open = grow(NEW_VIEW, "up", id("a"));
  expect(open.grown).toEqual([grip("up", id("a"))]);
  const folded = fold(open, "up", id("a"));
  expect([folded.grown, folded.folded]).toEqual([[], [grip("up", id("a"))]]);
  expect(grow(folded, "up", id("a"))).toEqual(NEW_VIEW);
});

test("a grip is a side and a node, whatever colons the node's id has", () => {
  expect(held(grip("down", "dataset:s3://l:y"))).toEqual(["down", "dataset:s3://l:y"]);
});

test("a view keeps the lists of the one before, while they hold the same", () => {
  const before = parseView("?node=t&grown=up:a&folded=up:b&columns=c");
  const view = keeping(before, parseView("?node=t&grown=up:a&folded=down:b&columns=c&columns=d"));
  expect(view.grown).toBe(before.grown);
  expect([view.folded, view.columns]).toEqual([["down:b"], ["c", "d"]]);
});
