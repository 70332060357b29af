import { expect, test } from "vitest";
import { addressOfHit } from "./found";
import { columnOf, openColumn } from "./lit";
import { foundOf, impactOf, incidentOf, parseFound, parseImpact, parseIncident, parseProvenance, parseVersion, provenanceOf, runsOf, versionOf } from "./places";
import { parseView } from "./view";

const params = (address: string) => new URL(address, "http://h").searchParams;

test("impact address restores the view and omits defaults", () => {
  const view = { node: "dataset:s3://a b&c", field: "x", level: "query", at: "2026-01-01T00:00:00Z", text: "ann" };
  expect(parseImpact(params(impactOf(view.node, view)))).toEqual(view);
  expect(impactOf("t", { level: "task", text: "", field: null })).toBe("/impact?node=t");
  expect(parseImpact(params("/impact"))).toEqual({ node: "", field: null, level: "task", at: null, text: "" });
});

test("provenance address restores the view", () => {
  const view = { node: "dataset:n:x", version: "7", at: null };
  expect(parseProvenance(params(provenanceOf(view.node, view)))).toEqual(view);
  expect(parseProvenance(params("/provenance")).node).toBe("");
});

test("version address restores the view", () => {
  const view = { version: "dataset:s3://a b@1&2", at: "2026-01-01T00:00:00Z" };
  expect(parseVersion(params(versionOf(view.version, view.at)))).toEqual(view);
  expect(parseVersion(params("/version"))).toEqual({ version: "", at: null });
});

test("incident address restores the view", () => {
  const view = { subject: "dataset:n:x", at: null };
  expect(parseIncident(params(incidentOf(view.subject)))).toEqual(view);
  expect(parseIncident(params("/incident")).subject).toBe("");
});

test("search address has the text and an optional kind", () => {
  expect([foundOf("a b"), foundOf("a", { kind: "column" })]).toEqual(["/search?text=a+b", "/search?text=a&in=column"]);
  const view = { text: "a&b", kind: "sql", isLong: true };
  expect(parseFound(params(foundOf(view.text, view)))).toEqual(view);
  expect(parseFound(params("/search"))).toEqual({ text: "", kind: null, isLong: false });
});

test("hit opens its graph, a column also its details and locked path", () => {
  const id = "dataset:s3://l:a|b";
  expect(addressOfHit({ id, kind: "table", matched: "name", text: "a" })).toBe(`/lineage?${new URLSearchParams({ node: id }).toString()}`);
  const view = parseView(new URL(addressOfHit({ id, kind: "table", matched: "column", text: "x" }), "http://h").search);
  expect(view).toMatchObject({ node: id, columns: [id], column: `${id}|x`, open: openColumn(id, "x") });
  expect([columnOf(view.open ?? ""), columnOf(view.column ?? "")]).toEqual([[id, "x"], [id, "x"]]);
});

test("runs of a job", () => {
  expect(runsOf("job:n:load a")).toBe("/runs?job=job%3An%3Aload+a");
});
