import { expect, test } from "vitest";
import { dayBeside, dayName, momentAt, monthName, moved, presetsOf, timeOf, weeksOf } from "./calendar";

test("weeks begin on Monday", () => {
  const weeks = weeksOf("2026-11");
  expect(weeks).toHaveLength(6);
  expect(weeks[0]).toEqual([null, null, null, null, null, null, "2026-11-01"]);
  expect(weeks[5]).toEqual(["2026-11-30", null, null, null, null, null, null]);
  expect(weeksOf("2024-02").flat().filter(Boolean)).toHaveLength(29);
});

test("months continue across the end of a year", () => {
  expect([moved("2026-12", 1), moved("2026-01", -1)]).toEqual(["2027-01", "2025-12"]);
  expect(monthName("2026-11")).toBe("November 2026");
  expect(dayName("2026-11-04")).toBe("4 November 2026");
});

test("arrow keys select past days, but no future days", () => {
  const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Tab"];
  expect(keys.map((key) => dayBeside("2026-11-01", key, "2026-11-03"))).toEqual(["2026-10-31", "2026-11-02", "2026-10-25", null, null]);
});

test.each([
  ["9:30", "2026-11-24T09:30:00Z"],
  [" 09:30:15 ", "2026-11-24T09:30:15Z"],
  ["24:00", null],
  ["09:61", null],
  ["noon", null],
  ["", null],
])("time %j is parsed in UTC", (time, at) => {
  expect(momentAt("2026-11-24", time)).toBe(at);
});

test("zero seconds are omitted", () => {
  expect([timeOf("2026-11-24T09:30:00Z"), timeOf("2026-11-24T09:30:21Z")]).toEqual(["09:30", "09:30:21"]);
});

test("presets are times in UTC", () => {
  const presets = presetsOf(Date.parse("2026-11-24T10:20:30.500Z"), "2026-11-23T01:00:00Z").map(({ id, at }) => `${id} ${at}`);
  expect(presets).toEqual([
    "hour 2026-11-24T09:20:30Z",
    "day 2026-11-23T10:20:30Z",
    "yesterday 2026-11-23T00:00:00Z",
    "week 2026-11-17T00:00:00Z",
    "success 2026-11-23T01:00:00Z",
  ]);
  expect(presetsOf(0, null)).toHaveLength(4);
});
