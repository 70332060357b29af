import { expect, test } from "vitest";
import { piecesOf } from "./code";
import { ago, commandLine, cardCommand, distinctNames, duration, errorLines, moment, nameOf, parts, plural, restOf, shellQuoted, short, uuid, withAges, withMoments, taskName, until } from "./words";

test.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [4_200, "4.2 s"],
  [9_960, "10 s"],
  [11_900, "12 s"],
  [59_600, "1 min"],
  [119_600, "2 min"],
  [3_599_700, "1 h"],
  [12_000, "12 s"],
  [68_000, "1 min 8 s"],
  [7_500_000, "2 h 5 min"],
  [86_400_000, "1 d"],
])("%i ms is formatted as %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test("relative time uses its largest unit", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect(ago("2026-01-01T23:59:59Z", now)).toBe("just now");
  expect(ago("2026-01-01T21:30:00Z", now)).toBe("2 h ago");
  expect(ago("no time", now)).toBe("no time");
  expect(ago("2025-12-20T00:00:00Z", now)).toBe("13 d ago");
  expect(ago("2025-12-12T00:00:00Z", now)).toBe("3 weeks ago");
  expect(ago("2025-09-01T00:00:00Z", now)).toBe("4 months ago");
  expect(ago("2023-09-01T00:00:00Z", now)).toBe("2 years ago");
});

test("times in a sentence are shown as ages", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect(withAges("is late: it was due at 2026-01-01T21:00:00Z", now)).toBe("is late: it was due 3 h ago");
});

test("time is in UTC to the second", () => {
  expect(moment("2026-01-02T03:04:05.678Z")).toBe("2026-01-02 03:04:05 UTC");
  expect(moment("yesterday")).toBe("yesterday");
});

test.each([
  ["dag.task", "job", "task", "dag"],
  ["lone", "job", "lone", ""],
  ["db.table", "dataset", "table", "db"],
  ["db.main.shop.orders.build.run", "job", "orders", "db.main.shop"],
  ["db.main.shop.orders.build.test", "job", "orders tests", "db.main.shop"],
  ["db.main.shop.dim.v2.build.run", "job", "dim.v2", "db.main.shop"],
  ["db.main.shop.orders.test", "job", "orders tests", "db.main.shop"],
  ["db.main.shop.zones.seed", "job", "zones", "db.main.shop"],
  ["dag.build.run", "job", "run", "dag.build"],
  ["dag.group.load.test", "job", "test", "dag.group.load"],
  ["exposure.shop.board", "job", "board", "exposure.shop"],
  ["Flow/model", "dataset", "model", "Flow"],
  ["/data/trips.2025.parquet", "dataset", "trips.2025.parquet", "/data"],
  ["lake/trips/", "dataset", "trips", "lake"],
  ["weekly_revenue.pdf", "dataset", "weekly_revenue.pdf", ""],
  ["Report.XLSX", "dataset", "Report.XLSX", ""],
  ["reports/weekly.v2.bin", "dataset", "weekly.v2.bin", "reports"],
  ["warehouse/sales.db/orders", "dataset", "orders", "warehouse/sales.db"],
  ["audit.log", "dataset", "log", "audit"],
  ["dag.export.pdf", "job", "pdf", "dag.export"],
] as const)("%s, a %s, is %s of %s", (name, type, title, above) => {
  expect(parts(name, type)).toEqual({ title, above });
});

test.each([
  ["dag.task", "job", "dag"],
  ["lake/trips/", "dataset", "lake"],
  ["db.main.shop.orders.build.run", "job", "db.main.shop.orders.build.run"],
] as const)("%s, a %s, has %s below its title", (name, type, rest) => {
  expect(restOf(name, parts(name, type))).toBe(rest);
});

test("counts have singular and plural", () => {
  expect([plural(1, "node"), plural(1_200, "node"), plural(2, "query", "queries")]).toEqual(["1 node", "1,200 nodes", "2 queries"]);
  expect(short(1_234_567)).toBe("1.2M");
});

test("argument is quoted if the shell needs it", () => {
  expect(shellQuoted("dataset:s3://a:b")).toBe("dataset:s3://a:b");
  expect(shellQuoted("it's a b")).toBe(`'it'\\''s a b'`);
});

test("code pieces concatenate to the code", () => {
  const sql = "SELECT a, 'x''y', 1.5 -- why\nFROM t";
  const pieces = piecesOf(sql, "sql");
  expect(pieces.map((piece) => piece.text).join("")).toBe(sql);
  const kinds = (kind: string) => pieces.filter((piece) => piece.kind === kind).map((piece) => piece.text);
  expect([kinds("keyword"), kinds("text"), kinds("number"), kinds("comment")]).toEqual([["SELECT", "FROM"], ["'x''y'"], ["1.5"], ["-- why"]]);
  expect(piecesOf("def f(): # no\n", "python").map((piece) => piece.kind)).toContain("keyword");
});

test("run with a card has a quoted card command", () => {
  const facet = { pathspec: "Flow/17/train/3", program: "./run training-flow", hasCard: true };
  expect(cardCommand({ metaflow_task: facet })).toBe("./run training-flow card view 17/train/3");
  expect(cardCommand({ metaflow_task: { ...facet, program: "a;b $(c)" } })).toBe("'a;b' '$(c)' card view 17/train/3");
  expect(cardCommand({ metaflow_task: { ...facet, hasCard: false } })).toBeNull();
  expect(cardCommand({})).toBeNull();
});

test("long version is shortened to its end", () => {
});

test("job name omits its pipeline", () => {
  expect([taskName("dag.task.query"), taskName("dag")]).toEqual(["task.query", "dag"]);
});

test("command line uses the configured program and server", () => {
  expect(commandLine("headwater runs 'job:n:a b'", "./run lineage", "http://localhost:9002")).toBe("./run lineage runs 'job:n:a b'");
  expect(commandLine("headwater tree x", "headwater", "http://localhost:9002/sample")).toBe("headwater tree --url http://localhost:9002/sample x");
  expect(commandLine("headwater tree headwater", "./run lineage", "http://localhost:9003")).toBe("./run lineage tree --url http://localhost:9003 headwater");
  expect(commandLine("python flow.py card view 1", "./run lineage", "http://localhost:9003")).toBe("python flow.py card view 1");
});

test("equal endings are distinguished by the fewest parts", () => {
  const named = (...ids: string[]) => [...distinctNames(ids.map((id) => {
    const [type = "", namespace = "", name = ""] = id.split(":");
    return { id, type, namespace, name };
  })).values()];
  expect(named("dataset:n:db.trips", "job:n:dag.load")).toEqual(["trips", "load"]);
  expect(named("job:n:taxi.stage", "job:n:weather.stage", "job:n:taxi.check")).toEqual(["taxi.stage", "weather.stage", "check"]);
  expect(named("job:n:db.a.p.orders.build.run", "job:n:db.b.p.orders.build.run")).toEqual(["a.p.orders", "b.p.orders"]);
  expect(named("dataset:f:/a/x/1.csv", "dataset:f:/b/x/1.csv")).toEqual(["a/x/1.csv", "b/x/1.csv"]);
  expect(named("dataset:n:db.trips", "dataset:m:db.trips", "dataset:m:trips")).toEqual(["n db.trips", "m db.trips", "m trips"]);
});

test("random bytes become a version 4 UUID", () => {
  expect(uuid(new Uint8Array(16).fill(255))).toBe("ffffffff-ffff-4fff-8fff-ffffffffffff");
  expect(uuid(new Uint8Array(16))).toBe("00000000-0000-4000-8000-000000000000");
});

test("first line of an error is the meaningful one", () => {
  expect(errorLines("HTTPError: 503")).toEqual({ first: "HTTPError: 503", rest: null });
  expect(errorLines("Boom\n  at x").first).toBe("Boom");
  expect(errorLines("Traceback (most recent call last):\n  File\nValueError: no rows\n").first).toBe("ValueError: no rows");
  expect(errorLines("")).toEqual({ first: "", rest: null });
  const long = `Cannot execute: ${"--conf a=b ".repeat(100)}Error code is: 1`;
  expect(errorLines(long).first).toMatch(/^Cannot execute: .{100,} … .{100,}Error code is: 1$/);
  expect(errorLines(long).rest).toBe(long);
});

test("times in a message are shown in UTC to the second", () => {
  expect(withMoments("due 2025-06-01T08:30:00.123456Z, 2 h ago")).toBe("due 2025-06-01 08:30:00 UTC, 2 h ago");
  expect(withMoments("no time")).toBe("no time");
});

test("name of an id follows its last colon", () => {
  expect(nameOf("job:s3://lake:dag.task")).toBe("dag.task");
});

test("time until a moment", () => {
  const at = "2026-01-02T03:00:00Z";
  const before = (minutes: number) => until(at, Date.parse(at) - minutes * 60_000);
  expect([before(-5), before(0.5), before(5), before(190), before(1_440)]).toEqual(["now", "now", "in 5 min", "in 3 h 10 min", "in 1 d"]);
});

test("folder of a partition is titled by its table", () => {
  expect(parts("lake/db/orders/dt=2026-01-01/hour=3", "dataset")).toEqual({ title: "orders/dt=2026-01-01/hour=3", above: "lake/db" });
  expect(parts("lake/orders/dt=2026-01-01/part.parquet", "dataset").title).toBe("part.parquet");
  expect(parts("a=b", "dataset")).toEqual({ title: "a=b", above: "" });
});
