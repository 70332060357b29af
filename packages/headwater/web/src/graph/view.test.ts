import { expect, test } from "vitest";
import { id } from "../test/graphs";
import { formatGrip, parseGrip, pick } from "./grips";
import { lockedIn, toggleLocked } from "./lit";
import { addressOf, AUTO, DEEPEST, fold, formatView, grow, reuseLists, NEW_VIEW, parseView, selectTime, seek, toggleGroup, withDepths, withFanOut, type View } from "./view";

const FULL: View = {
  node: "dataset:s3://lake:a b&c",
  up: 3,
  down: 0,
  most: Infinity,
  level: "query",
  grown: [formatGrip("up", "job:n:x"), formatGrip("down", "dataset:s3://l:y")],
  folded: [formatGrip("down", "job:n:z")],
  datasetsOnly: true,
  control: false,
  direction: "down",
  collapsed: ["job:n:x"],
  chains: true,
  expanded: ["chain:a"],
  lit: id("j1"),
  picks: [{ of: formatGrip("down", id("a")), node: id("b|&=") }],
  open: "run:1",
  tab: "schema",
  columns: [id("a"), id("b")],
  column: `${id("a")}|x`,
  also: ["dataset:n:b|y"],
  seeks: [{ id: id("a"), text: "fee|&=:ü", page: 0 }, { id: id("b"), text: "", page: 2 }],
  at: "2026-01-01T00:00:00Z",
  from: "2025-12-01T00:00:00Z",
  range: null,
  moments: ["2026-01-01T00:00:00Z"],
  beside: "now",
};

test.each([
  ["a new view", { ...NEW_VIEW, node: "t" }],
  ["a full view", FULL],
])("%s is restored from its address", (_, view) => {
  expect(parseView(new URL(formatView(view), "http://h").search)).toEqual(view);
});

test("range of the timeline is restored", () => {
  for (const range of ["auto", "week", "month"] as const) expect(parseView(addressOf("t", { range }).slice("/lineage".length)).range).toBe(range);
});

test("address omits defaults", () => {
  expect(addressOf("t")).toBe("/lineage?node=t");
  expect(addressOf("t", { up: 2 })).toBe("/lineage?node=t&up=2");
});

test("invalid parameters fall back to defaults", () => {
  expect(parseView("?node=t&up=x&down=1.5&level=all&grown=left:a&folded=&pick=of%3Dleft&pick=&pick=of%3Dup%3Aa&timeline=year")).toEqual({ ...NEW_VIEW, node: "t" });
  expect(parseView("?up=1000&down=-3")).toMatchObject({ up: DEEPEST, down: 0 });
});

test("picked neighbors are kept once, until their side is collapsed", () => {
  const grip = formatGrip("up", id("a"));
  const picked = { ...NEW_VIEW, picks: pick(pick([], grip, [id("b")]), grip, [id("b"), id("c")]) };
  expect(picked.picks.map(({ node }) => node)).toEqual([id("b"), id("c")]);
  expect(fold(picked, "up", id("a")).picks).toEqual([]);
  expect(fold(picked, "down", id("a")).picks).toHaveLength(2);
});

test("reopening a folded side restores its nodes", () => {
  const open = grow(NEW_VIEW, "up", id("a"));
  expect(open.grown).toEqual([formatGrip("up", id("a"))]);
  const folded = fold(open, "up", id("a"));
  expect([folded.grown, folded.folded]).toEqual([[formatGrip("up", id("a"))], [formatGrip("up", id("a"))]]);
  expect(fold(folded, "up", id("a"))).toBe(folded);
  expect(grow(folded, "up", id("a"))).toEqual(open);
});

test("column search is kept per dataset and omits the first page", () => {
  const [fee, tip] = [{ id: id("a"), text: "fee", page: 1 }, { id: id("b"), text: "tip", page: 0 }];
  const view = { ...NEW_VIEW, seeks: [fee, tip] };
  expect(seek(view, { ...fee, page: 2 })).toEqual([tip, { ...fee, page: 2 }]);
  expect(seek(view, { ...fee, text: "", page: 0 })).toEqual([tip]);
  expect(parseView("?seek=page%3D-1&seek=of%3Dx%26page%3Da").seeks).toEqual([{ id: "", text: "", page: 0 }, { id: "x", text: "", page: 0 }]);
});

test("grip parses ids with colons", () => {
  expect(parseGrip(formatGrip("down", "dataset:s3://l:y"))).toEqual(["down", "dataset:s3://l:y"]);
});

test("view reuses equal lists", () => {
  const before = parseView("?node=t&grown=up:a&folded=up:b&columns=c&seek=of%3Dc%26page%3D1");
  const view = reuseLists(before, parseView("?node=t&grown=up:a&folded=down:b&columns=c&columns=d&seek=of%3Dc%26page%3D1"));
  expect(view.grown).toBe(before.grown);
  expect(view.seeks).toBe(before.seeks);
  expect([view.folded, view.columns]).toEqual([["down:b"], ["c", "d"]]);
});

test("second selected time is compared with the first", () => {
  const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z"];
  expect(selectTime({ ...NEW_VIEW, from: early }, late, false)).toEqual({ at: late, from: null });
  expect(selectTime(NEW_VIEW, early, true)).toEqual({ from: early, at: null });
  expect(selectTime({ ...NEW_VIEW, at: early }, late, true)).toEqual({ from: early, at: late });
  expect(selectTime({ ...NEW_VIEW, at: late }, early, true)).toEqual({ from: early, at: late });
  expect(selectTime({ ...NEW_VIEW, at: early }, null, true)).toEqual({ from: early, at: null });
  expect(selectTime({ ...NEW_VIEW, at: early }, early, true), "the same is no difference").toEqual({ at: early, from: null });
});

test("small graph is shown as a whole without explicit steps", () => {
  const steps = (view: Partial<View>, reach: { up: number; down: number } | null) => {
    const { up, down } = withDepths({ ...NEW_VIEW, ...view }, reach);
    return [up, down];
  };
  expect(steps({}, { up: 16, down: 0 })).toEqual([DEEPEST, DEEPEST]);
  expect(steps({ up: 1 }, { up: 16, down: 0 })).toEqual([1, DEEPEST]);
  expect(steps({}, { up: 40, down: 20 })).toEqual([2, 2]);
  expect(steps({ down: 3 }, null)).toEqual([1, 3]);
  const far = withDepths({ ...NEW_VIEW, node: "dataset:n:a", column: "dataset:n:a|x", down: 1 }, { up: 80, down: 80 }, { up: 4, down: 9 });
  expect([far.up, far.down]).toEqual([8, 1]);
  const aside = withDepths({ ...NEW_VIEW, node: "dataset:n:b", column: "dataset:n:a|x", datasetsOnly: true }, { up: 80, down: 80 }, { up: 4, down: 0 });
  expect([aside.up, aside.down]).toEqual([6, 2]);
  expect(parseView("?up=-1&down=x")).toMatchObject({ up: 0, down: AUTO });
});

test("pipelines and chains are collapsed and expanded again", () => {
  const once = { ...NEW_VIEW, ...toggleGroup(NEW_VIEW, "job:n:x"), ...toggleGroup(NEW_VIEW, "chain:a") };
  expect(once).toMatchObject({ collapsed: ["job:n:x"], expanded: ["chain:a"] });
  expect({ ...once, ...toggleGroup(once, "job:n:x"), ...toggleGroup(once, "chain:a") }).toEqual(NEW_VIEW);
});

test("many neighbors collapse unless everything, a comparison or a column is shown", () => {
  const most = (view: Partial<View>) => withFanOut({ ...NEW_VIEW, ...view }).most;
  expect([most({}), most({ up: 2, down: DEEPEST })]).toEqual([12, 12]);
  expect([most({ up: DEEPEST, down: DEEPEST }), most({ from: "2026-01-01T00:00:00Z" }), most({ column: "a|x" })]).toEqual([Infinity, Infinity, Infinity]);
});

test("paths of up to four columns are locked together", () => {
  const locked = (...keys: string[]): View => ({ ...NEW_VIEW, node: "dataset:n:a", column: keys[0] ?? null, also: keys.slice(1) });
  expect(lockedIn(parseView(formatView(locked("a|x", "a|y")).slice("/lineage".length)))).toEqual(["a|x", "a|y"]);
  expect(lockedIn(parseView(formatView({ ...locked(), also: ["a|y"] }).slice("/lineage".length)))).toEqual([]);
  expect(lockedIn(parseView("?also=a|y"))).toEqual([]);
  expect(toggleLocked(locked("a|x"), "a|y")).toEqual({ column: "a|x", also: ["a|y"], lit: null });
  expect(toggleLocked(locked("a|x", "a|y"), "a|x")).toEqual({ column: "a|y", also: [], lit: null });
  expect(toggleLocked(locked("a|x"), "a|x")).toEqual({ column: null, also: [], lit: null });
  expect(toggleLocked(locked("1", "2", "3", "4"), "5")).toEqual({ column: "1", also: ["2", "3", "5"], lit: null });
});
