import { expect, test } from "vitest";
import { isGroup, keyLabel, mapAddress, parseMap, problemsText, sizeText, worstOf } from "./map";

const parsed = (address: string) => parseMap(new URL(address, "http://h").searchParams);

test("address restores the map and omits defaults", () => {
  const view = { by: "owner" as const, path: ["a b", "job:n:x"], hidden: ["k"], after: ["c1", "c2"] };
  expect(parsed(mapAddress(view))).toEqual(view);
  expect(mapAddress({})).toBe("/map");
  expect(parsed("/map?by=color")).toEqual({ by: "platform", path: [], hidden: [], after: [] });
});

test("problems are listed by severity", () => {
  const none = { failed: 0, failed_checks: 0, blocked: 0, late: 0 };
  expect([problemsText(none), worstOf(none)]).toEqual(["", null]);
  const some = { failed: 0, failed_checks: 2, blocked: 1_200, late: 1 };
  expect([problemsText(some), worstOf(some)]).toEqual(["2 failed checks, 1,200 blocked, 1 late", "failed_checks"]);
});

test("groups have sizes and labels", () => {
  expect([isGroup({ kind: "schema" }), isGroup({ kind: "task" }), isGroup({ kind: "dataset" })]).toEqual([true, false, false]);
  expect([sizeText("platform", 1), sizeText("owner", 2_000)]).toEqual(["1 dataset", "2,000 tasks"]);
  expect(keyLabel("postgres", 0, "platform")).toBe("postgres");
  expect(keyLabel("postgres://h:1 shop.public", 1, "platform")).toBe("shop.public");
  expect(keyLabel("s3://bucket ", 1, "platform")).toBe("s3://bucket");
  expect(keyLabel("job:n:daily", 1, "owner")).toBe("daily");
});
