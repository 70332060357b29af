import { expect, test } from "vitest";
import { addressOfHit, besideHit, tagsOfHit } from "./found";

test("hits with equal names show their parents", () => {
  const hit = (name: string, matched: string) => ({ name, namespace: "lake", type: "dataset", matched, text: "fare" }) as Parameters<typeof besideHit>[0];
  const hits = [hit("a.trips", "column"), hit("b.trips", "column"), hit("other", "column")];
  expect(hits.map((other) => besideHit(other, hits))).toEqual([expect.stringMatching(/^a · .*: fare$/), expect.stringMatching(/^b · .*: fare$/), expect.stringMatching(/^[^·]*: fare$/)]);
  expect(["a.trips", "trips"].map((name) => besideHit(hit(name, "name"), hits))).toEqual(["a", "lake"]);
  expect(besideHit(hit("other", "elsewhere"), hits)).toBe("elsewhere: fare");
  expect(besideHit({ ...hit("dag.load", "name"), type: "job" }, hits)).toBe("dag");
});

test("a column has its own tags and those of its dataset", () => {
  const tags = ["domain:taxi", "pii", "pii (dropoff)", "tier:gold (pickup)"];
  expect(tagsOfHit({ matched: "name", text: "trips", tags })).toEqual(tags);
  expect(tagsOfHit({ matched: "column", text: "pickup", tags })).toEqual(["domain:taxi", "pii", "tier:gold"]);
  expect(tagsOfHit({ matched: "column", text: "dropoff", tags })).toEqual(["domain:taxi", "pii"]);
});

test("a run and a query open their details, another hit its node", () => {
  const address = (matched: string) => decodeURIComponent(addressOfHit({ id: "job:n:load", kind: "task", matched, text: "r1" }));
  expect(address("run")).toContain("open=run:r1");
  expect(address("sql")).toContain("open=job:n:load");
  expect(address("name")).not.toContain("open=");
  expect(address("sql")).not.toContain("level=");
  for (const matched of ["name", "sql", "run"]) expect(addressOfHit({ id: "job:n:load.write", kind: "query", matched, text: "r1" })).toContain("level=query");
});
