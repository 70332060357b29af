import { expect, test } from "vitest";
import { barsOf, beginOf, endsOf, lineOf, marksOn, onAxis, rangeOf, sentence, ticksOf, timeAt, type TimeChange, type TimelineAnswer } from "./timeline";

const [JOB, WEATHER] = ["job:n:dag.prepare", "dataset:n:db.weather"];

function change(day: number, kind: TimeChange["kind"], others: Partial<TimeChange> = {}): TimeChange {
  const at = `2026-01-${String(day).padStart(2, "0")}T02:30:00Z`;
  return { kind, isGone: false, at, before: at.replace("02:30", "02:00"), node: JOB, other: null, runId: "r", detail: [], ...others };
}

const TIMELINE: TimelineAnswer = {
  node: JOB,
  level: "task",
  from: "2026-01-01T00:00:00Z",
  to: "2026-01-11T00:00:00Z",
  isMore: false,
  nodes: { [JOB]: { type: "job", namespace: "n", name: "dag.prepare" }, [WEATHER]: { type: "dataset", namespace: "n", name: "db.weather" } },
  runs: [
    { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z", at: "2026-01-02T03:00:00Z", completed: 1, failed: 0, lost: 0, running: 0 },
    { from: "2026-01-06T00:00:00Z", to: "2026-01-07T00:00:00Z", at: "2026-01-07T00:00:00Z", completed: 1, failed: 2, lost: 0, running: 1 },
  ],
  changes: [
    change(9, "code", { detail: ["0123456789", "abcdefabcd"] }),
    change(6, "output", { other: WEATHER, isGone: true }),
    change(5, "input", { other: WEATHER }),
    change(1, "node", { node: WEATHER, other: JOB }),
    change(1, "node"),
  ],
};

test("bar height is the number of runs, failures first", () => {
  const bars = barsOf(TIMELINE);
  expect(bars.map((bar) => [bar.left, bar.width, bar.height])).toEqual([[0, 10, 25], [50, 10, 100]]);
  expect(bars.map((bar) => bar.at)).toEqual(TIMELINE.runs.map((run) => run.at));
  expect(bars[1]?.groups).toEqual([{ name: "failed", share: 50 }, { name: "running", share: 25 }, { name: "completed", share: 25 }]);
  expect(bars[1]?.text).toBe("2026-01-06 00:00 to 2026-01-07 00:00 UTC: 2 failed, 1 running, 1 completed");
  expect(barsOf({ ...TIMELINE, runs: [] })).toEqual([]);
});

test("mark compares before its first and after its last change", () => {
  const marks = marksOn(TIMELINE);
  expect(marks.map((mark) => mark.tone)).toEqual(["new", "came", "gone", "changed"]);
  expect(marks[1]).toMatchObject({ before: "2026-01-05T02:00:00Z", at: "2026-01-05T02:30:00Z", label: "weather → prepare", isAtEnd: false, room: 10 });
  expect(marks[1]?.text).toBe("2026-01-05 02:30 UTC: weather became an input of prepare");
  expect(marks[0]?.text).toBe("2026-01-01 02:30 UTC: 2 new nodes");
});

test("near changes share a mark, most important first", () => {
  const many = (["node", "schema", "failed", "input"] as const).map((kind) => change(3, kind, { other: kind === "input" ? WEATHER : null }));
  const marks = marksOn({ ...TIMELINE, changes: [change(3, "code", { at: "2026-01-03T03:00:00Z" }), ...many] });
  expect(marks).toHaveLength(1);
  expect(marks[0]).toMatchObject({ tone: "came", at: "2026-01-03T03:00:00Z", before: "2026-01-03T02:00:00Z" });
  expect(marks[0]?.text).toContain("weather became an input of prepare; prepare failed; 2 more; prepare is new");
  const gone = marksOn({ ...TIMELINE, changes: [change(9, "output", { isGone: true, other: WEATHER })] });
  expect(marksOn({ ...TIMELINE, changes: [change(9, "failed")] })[0]?.tone).toBe("failed");
  expect(gone[0]).toMatchObject({ label: "prepare → weather", isAtEnd: true });
});

test("label needs room up to the next mark", () => {
  const edge = (day: number) => change(day, "input", { other: WEATHER });
  const labels = (...days: number[]) => marksOn({ ...TIMELINE, changes: days.map(edge) }).map((mark) => mark.label !== null);
  expect(labels(10, 7, 3, 2)).toEqual([true, true, true, false]);
  expect(labels(10, 9, 5, 1)).toEqual([true, true, false, true]);
});

test.each([
  [change(1, "input", { other: WEATHER, isGone: true }), "weather is no longer an input of prepare"],
  [change(1, "node", { node: WEATHER, other: JOB }), "weather is new, first used by prepare"],
  [change(1, "schema", { node: WEATHER, detail: ["+ x: int", "− y: int"] }), "weather: + x: int, − y: int"],
  [change(1, "code", { detail: ["0123456789", "abcdefabcd"] }), "prepare: code 0123456 → abcdefa"],
  [change(1, "code"), "prepare: code changed without a new commit"],
  [change(1, "failed", { detail: ["no disk\nat x"] }), "prepare failed: no disk"],
  [change(1, "failed", { node: "job:n:gone" }), "job:n:gone failed"],
])("change has a description", (timeChange, text) => {
  expect(sentence(timeChange, TIMELINE.nodes)).toBe(text);
});

test("ticks are few, at whole minutes, hours, days or years", () => {
  const between = (from: string, to: string) => ticksOf(lineOf({ from, to })).map((tick) => tick.text);
  expect(between("2026-01-01T20:10:00Z", "2026-01-02T01:00:00Z")).toEqual(["21:00", "22:00", "23:00", "2 Jan", "01:00"]);
  expect(between("2026-01-01T12:00:00Z", "2026-01-12T00:00:00Z")).toEqual(["3 Jan", "5 Jan", "7 Jan", "9 Jan", "11 Jan"]);
  expect(between("1900-01-01T00:00:00Z", "2026-01-01T00:00:00Z").length).toBeGreaterThan(2);
  expect(between("2024-01-01T00:00:00Z", "2026-01-01T00:00:00Z")[0]).toMatch(/\d{4}$/);
  expect(between("2026-01-01T00:10:30Z", "2026-01-01T00:20:00Z")).toEqual(["00:12", "00:14", "00:16", "00:18", "00:20"]);
  expect(between("2026-01-01T00:10:10Z", "2026-01-01T00:10:50Z")).toEqual([]);
});

test("position is converted to a time, and ranges start at a whole hour", () => {
  const line = lineOf(TIMELINE);
  expect(timeAt(line, 50)).toBe("2026-01-06T00:00:00Z");
  expect(beginOf("day", Date.parse("2026-01-02T10:20:30Z"))).toBe("2026-01-01T10:00:00Z");
  expect(beginOf("all", 0)).toBeNull();
});

test("axis covers the selected range even without runs", () => {
  const now = Date.parse(TIMELINE.to);
  expect(lineOf(onAxis(TIMELINE, "month", now)).from).toBe(Date.parse("2025-12-12T00:00:00Z"));
  expect(barsOf(onAxis(TIMELINE, "month", now))[0]?.left).toBeCloseTo(66.7, 1);
  expect(onAxis(TIMELINE, "all", now)).toBe(TIMELINE);
});

test("automatic range begins at the first run, at most 30 days ago", () => {
  const now = Date.parse("2026-01-31T00:30:00Z");
  expect(rangeOf({ ...TIMELINE, from: "2026-01-31T00:20:00Z" }, now), "a first demo").toBe("all");
  expect(rangeOf({ ...TIMELINE, from: beginOf("auto", now) ?? "" }, now), "older runs are cut off").toBe("month");
});

test("mark has the ends of its first change", () => {
  const marks = marksOn(TIMELINE);
  expect(marks.map(endsOf)).toEqual([[JOB], [JOB, WEATHER], [JOB, WEATHER], [JOB]]);
});
