import { expect, test } from "vitest";
import { closeMoment, momentOf, keepMomentsOpen, nameOf, NOW, pairOf, tabsOf, timesOf } from "./moments";
import { NEW_VIEW, type View } from "./view";

const NOVEMBER = Date.parse("2026-11-22T00:00:00Z");
const [LAST, EARLY, LATE] = ["2025-12-31T23:59:00Z", "2026-11-09T14:00:00Z", "2026-11-10T14:00:00Z"];

test.each([
  [NOW, { at: null, from: null }, "Now"],
  [LATE, { at: LATE, from: null }, "10 Nov, 14:00 UTC"],
  [`${EARLY}~${LATE}`, { at: LATE, from: EARLY }, "9 Nov, 14:00 UTC to 10 Nov, 14:00 UTC"],
  [`${LAST}~${LATE}`, { at: LATE, from: LAST }, "31 Dec 2025, 23:59 UTC to 10 Nov, 14:00 UTC"],
  [`${EARLY}~now`, { at: null, from: EARLY }, "9 Nov, 14:00 UTC to now"],
  ["a-run", { at: "a-run", from: null }, "a-run"],
])("moment %s is parsed and named", (moment, times, name) => {
  expect(timesOf(moment)).toEqual(times);
  expect(momentOf(times)).toBe(moment);
  expect(nameOf(moment, NOVEMBER)).toBe(name);
});

function after(view: View, ...changes: Partial<View>[]): View {
  return changes.reduce<View>((current, change) => ({ ...current, ...keepMomentsOpen(current, change) }), view);
}

test("selected times stay open without duplicates", () => {
  const view = after(NEW_VIEW, { at: EARLY }, { at: LATE }, { at: EARLY }, { at: null });
  expect(tabsOf(view)).toEqual([NOW, EARLY, LATE]);
  expect(tabsOf({ ...NEW_VIEW, at: LATE, from: EARLY }), "also one that only the address tells").toEqual([NOW, `${EARLY}~${LATE}`]);
});

test("changes without a time open no tab", () => {
  expect(keepMomentsOpen(NEW_VIEW, { up: 2 })).toEqual({ up: 2 });
});

test("oldest tab closes above the limit", () => {
  const days = Array.from({ length: 8 }, (_, day) => ({ at: `2026-11-0${day + 1}T00:00:00Z` }));
  expect(after(NEW_VIEW, ...days).moments).toEqual(days.slice(2).map((day) => day.at));
});

test("selected time is not shown beside itself", () => {
  expect(after({ ...NEW_VIEW, beside: EARLY }, { at: EARLY }).beside).toBeNull();
  expect(after({ ...NEW_VIEW, beside: EARLY }, { at: LATE }).beside).toBe(EARLY);
});

test("closing the selected tab shows the current graph", () => {
  const view = after(NEW_VIEW, { at: EARLY }, { at: LATE });
  expect(closeMoment({ ...view, beside: EARLY }, EARLY)).toEqual({ moments: [LATE], beside: null });
  expect(closeMoment({ ...view, beside: NOW }, LATE)).toEqual({ at: null, from: null, moments: [EARLY], beside: null });
  expect(closeMoment({ ...view, beside: NOW }, EARLY)).toEqual({ moments: [LATE], beside: NOW });
});

test("moment beside another is a pair, the selected one first", () => {
  expect(pairOf({ at: LATE, from: null, beside: null })).toBeNull();
  expect(pairOf({ at: LATE, from: null, beside: EARLY })).toEqual([{ at: LATE, from: null }, { at: EARLY, from: null }]);
});
