import { expect, test } from "vitest";
import type { Answer } from "../api/client";
import { byOwner, countLine, graphOf, impactText, filterByText, reachedOf } from "./impact";
import type { NodeId } from "./types";

type Entry = Answer<"impact">["affected"][number];

const table = (name: string, distance: number, others: Partial<Entry> = {}): Entry => ({
  id: `dataset:n:${name}`, type: "dataset", kind: "table", namespace: "n", name, distance, owners: [], jobOwners: [], health: { state: "healthy", message: "completed", at: null, by: [] }, removal: null, tags: [], run: null, writtenBy: null, field: null, transformation: "", job: "", ...others,
}); // prettier-ignore
const job = (name: string, distance: number, owners: string[] = []): Entry => ({
  ...table(name, distance), id: `job:n:${name}`, type: "job", kind: "task", owners,
  run: { runId: "1", state: "COMPLETED", startedAt: null, endedAt: null, durationMs: null, job: { namespace: "n", name } },
}); // prettier-ignore
const tag = (field: string | null) => ({ key: "pii", value: "true", source: "", field, from: { namespace: "n", name: "a", field: null } });
const column = (name: string, field: string, distance: number): Entry => ({
  ...table(name, distance), type: "column", field, transformation: "GROUP_BY", job: "j", tags: [tag(field)],
}); // prettier-ignore

const ALL = reachedOf([job("dag.load", 1, ["ann", "bob"]), table("db.raw", 2, { jobOwners: ["bob"], tags: [tag("mail")] }), table("db.lone", 9), column("db.raw", "mail", 2)]);

test("dataset without owners has those of its writing job", () => {
  const [, raw, lone, mail] = ALL;
  expect([raw?.owners, raw?.isByJob, raw?.tags, raw?.isPii]).toEqual([["bob"], true, ["pii, derived (mail)"], true]);
  expect([lone?.owners, lone?.isByJob, lone?.run]).toEqual([[], false, null]);
  expect([mail?.field, mail?.how, mail?.tags, mail?.title, mail?.above]).toEqual(["mail", "group by", ["pii, derived"], "raw", "db"]);
});

test("a column has one entry with all its transformations and the fewest steps", () => {
  const twice = reachedOf([column("db.raw", "mail", 3), { ...column("db.raw", "mail", 2), transformation: "IDENTITY" }, column("db.raw", "name", 2)]);
  expect(twice.map(({ field, how, distance }) => [field, how, distance])).toEqual([["mail", "group by, identity", 2], ["name", "group by", 2]]);
});

test("owners are sorted by size, no owner last", () => {
  expect(byOwner(ALL).map(({ owner, reached }) => [owner, reached.length])).toEqual([["bob", 2], ["ann", 1], [null, 2]]);
  expect(byOwner(reachedOf([job("a", 1, ["b"]), job("b", 1, ["a"])])).map((group) => group.owner)).toEqual(["a", "b"]);
  expect(byOwner(reachedOf([table("a", 1), job("b", 1, ["a"]), table("c", 1)])).map((group) => group.owner)).toEqual(["a", null]);
});

test("filter requires every word", () => {
  expect(filterByText(ALL, "bob task").map((entry) => entry.title)).toEqual(["load"]);
  expect(filterByText(ALL, " PII ").map((entry) => entry.type)).toEqual(["dataset", "column"]);
  expect(filterByText(ALL, "")).toHaveLength(4);
});

test("summary counts downstream nodes", () => {
  expect(countLine(ALL)).toBe("1 column of 1 dataset, 2 datasets, 1 job · 2 owners · 2 without an owner · up to 9 steps away · 2 with PII");
  expect(countLine(reachedOf([table("a", 1)]))).toBe("1 dataset · 1 without an owner · up to 1 step away");
  expect(countLine(reachedOf([job("a", 1, ["ann"])]))).toBe("1 job · 1 owner · up to 1 step away");
});

test("text has one line per node below its owner", () => {
  expect(impactText("What x reaches", ALL.slice(1))).toBe(
    ["What x reaches", "", "bob", "  2  db.raw (table, pii, derived (mail))", "", "No owner", "  9  db.lone (table)", "  2  db.raw mail (table, group by, pii, derived)"].join("\n"),
  );
});

test("address of a column locks its path and opens its details", () => {
  const id = "dataset:n:a" as NodeId;
  expect(graphOf({ id, field: null })).toBe("/lineage?node=dataset%3An%3Aa");
  expect(new URL(graphOf({ id, field: "x" }, "2026-01-01T00:00:00Z"), "http://h").searchParams.get("open")).toBe("column:dataset:n:a|x");
});

test("text states a problem instead of the last completed run", () => {
  const blocked = { ...job("dag.load", 1), health: { state: "blocked" as const, message: "not written since stage failed", at: null, by: [] } };
  expect(impactText("Impact", reachedOf([blocked]))).toContain("load (task, not written since stage failed)");
});
