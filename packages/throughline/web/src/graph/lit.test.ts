import { expect, test } from "vitest";
import { answer, column, id, told } from "../test/graphs";
import { rowsOf } from "./columns";
import { columnKey, datasetsOf, litColumns, litEdges, litNodes } from "./lit";
import { merge } from "./merge";
import type { DatasetNode } from "./types";

const GRAPH = merge([answer("m", "a>j1", "j1>m", "j1>side", "m>j2", "j2>b", "j0~j1")]);

test("the path of a node is all that it comes from and leads to, and nothing beside", () => {
  expect([...litNodes(GRAPH.edges, id("m"))].sort()).toEqual([id("a"), id("b"), id("j1"), id("j2"), id("m")].sort());
});

test("the lit edges are those on the path; control is none", () => {
  const lit = [...litEdges(GRAPH.edges, id("m"))].map((edge) => `${edge.from} ${edge.to}`);
  expect(lit).toHaveLength(4);
  expect(lit).not.toContain(`${id("j1")} ${id("side")}`);
});

test("an edge from above a node to below it, past the node, is not lit", () => {
  const past = merge([answer("m", "a>j1", "j1>m", "m>j2", "a>j2")]);
  expect([...litEdges(past.edges, id("m"))].map((edge) => edge.from)).toEqual([id("a"), id("j1"), id("m")]);
});

test("a column's path goes up and down, also around a circle", () => {
  const edges = [column("a.x", "b.y"), column("b.y", "c.z"), column("c.z", "b.y"), column("a.q", "b.r")];
  const lit = litColumns(edges, columnKey(id("b"), "y"));
  expect([...lit.keys].sort()).toEqual([columnKey(id("a"), "x"), columnKey(id("b"), "y"), columnKey(id("c"), "z")]);
  expect(lit.edges).toEqual(edges.slice(0, 3));
});

test("columns with lineage come first, also those that no schema names", () => {
  const node = { ...merge([{ ...answer("a"), nodes: [{ ...told("a"), fields: [{ name: "p", type: "int" }, { name: "x", type: "int" }] }] }]).nodes.get(id("a")) } as DatasetNode;
  const edges = [column("a.x", "b.y"), column("a.bare", "b.y")];
  expect(rowsOf(node, edges)).toEqual([
    { name: "x", type: "int", isRelated: true, mark: null },
    { name: "bare", type: "", isRelated: true, mark: null },
    { name: "p", type: "int", isRelated: false, mark: null },
  ]);
  const changes = [
    { node: id("a"), field: "p", type: "int", mark: "added" as const },
    { node: id("a"), field: "gone", type: "date", mark: "removed" as const },
    { node: id("b"), field: "y", type: "int", mark: "added" as const },
  ];
  const rows = rowsOf(node, edges, new Map(changes.map((each) => [columnKey(each.node, each.field), each])));
  expect(rows.map(({ name, type, mark }) => [name, type, mark])).toEqual([["p", "int", "added"], ["gone", "date", "removed"], ["x", "int", null], ["bare", "", null]]);
});

test("the datasets of a path are told once", () => {
  const { keys } = litColumns([column("a.x", "b.x"), column("a.y", "b.x")], columnKey(id("b"), "x"));
  expect([...datasetsOf(keys)].sort()).toEqual([id("a"), id("b")]);
});
