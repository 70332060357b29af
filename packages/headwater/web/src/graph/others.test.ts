import { expect, test } from "vitest";
import { answer, apiNode, id } from "../test/graphs";
import { idsOf, othersOf, otherGroups } from "./others";

const node = (name: string, others: object = {}) => ({ ...apiNode("j"), id: id(name), name, ...others });
const NODES = [
  node("shop.orders.load", { owners: ["growth", "sales"], pipeline: "job:n:shop" as const }),
  node("shop.orders.sum", { owners: ["growth"], pipeline: "job:n:shop" as const, tags: ["gold"] }),
  node("alone"),
];
const drawn = (by: "owner" | "schema" | "pipeline", text = "") => otherGroups(NODES, by, text).map(({ key, nodes }) => [key, ...nodes.map(({ name }) => name)]);

test("neighbors are those of the side that are not shown, with problems first", () => {
  const graph = answer("a", "j0>a", "a>j3", "a>j2", "a>j1", "a~j4", "j1>b");
  graph.nodes = graph.nodes.map((each) => (each.name === "j2" ? { ...each, health: { ...each.health, state: "late" as const } } : each));
  expect(idsOf(othersOf(graph, "down", new Set())).map(String)).toEqual(["j2", "j1", "j3"].map(id));
  expect(othersOf(graph, "down", new Set([id("j2"), id("j3")])).map(({ name }) => name)).toEqual(["j1"]);
  expect(othersOf(graph, "up", new Set()).map(({ name }) => name)).toEqual(["j0"]);
});

test("groups are by owner, schema or pipeline, the largest first and those without a value last", () => {
  expect(drawn("owner")).toEqual([["growth", "shop.orders.load", "shop.orders.sum"], ["sales", "shop.orders.load"], ["", "alone"]]);
  expect(drawn("schema")).toEqual([["shop.orders", "shop.orders.load", "shop.orders.sum"], ["", "alone"]]);
  expect(drawn("pipeline")).toEqual([["shop", "shop.orders.load", "shop.orders.sum"], ["", "alone"]]);
  expect(otherGroups([NODES[0] as (typeof NODES)[0]], "owner", "").map(({ key }) => key)).toEqual(["growth", "sales"]);
});

test("every word of the search must occur", () => {
  expect(drawn("pipeline", "ORDERS gold")).toEqual([["shop", "shop.orders.sum"]]);
  expect(drawn("owner", "sales load")).toEqual([["growth", "shop.orders.load"], ["sales", "shop.orders.load"]]);
  expect(drawn("owner", "none")).toEqual([]);
});
