import { describe, expect, test } from "vitest";
import { answer, column, id, apiNode } from "../test/graphs";
import { rowsOf } from "./columns";
import { columnKey, datasetsOf, litColumns, litPath } from "./lit";
import { merge } from "./merge";
import type { DatasetNode, Graph, GraphAnswer } from "./types";

const GRAPH = merge([answer("m", "a>j1", "j1>m", "j1>side", "m>j2", "j2>b", "j0~j1")]);

/** Return the sorted names of the nodes and edges on a node's path. */
function pathOf(graph: Graph, name: string): { nodes: string; edges: string } {
  const short = (node: string) => node.slice(node.lastIndexOf(":") + 1);
  const { nodes, edges } = litPath(graph, id(name));
  return {
    nodes: [...nodes].map(short).sort().join(" "),
    edges: [...edges].map((edge) => `${short(edge.from)}>${short(edge.to)}`).sort().join(" "),
  };
}

/** Add sources of a job's outputs to a response, such as `a b>x`. */
function parted(graph: GraphAnswer, job: string, ...sources: string[]): GraphAnswer {
  const ids = (text = "") => text.split(" ").filter(Boolean).map(id);
  const pairs = sources.map((source) => source.split(">"));
  return { ...graph, sources: pairs.map(([inputs, outputs]) => ({ job: id(job), inputs: ids(inputs), outputs: ids(outputs) })) };
}

test("path of a node is its upstream and downstream without control edges", () => {
  expect(pathOf(GRAPH, "m")).toEqual({ nodes: "a b j1 j2 m", edges: "a>j1 j1>m j2>b m>j2" });
});

test("edge that bypasses the node is not highlighted", () => {
  const past = merge([answer("m", "a>j1", "j1>m", "m>j2", "a>j2")]);
  expect(pathOf(past, "m").edges).toBe("a>j1 j1>m m>j2");
});

test("path ends at cycles", () => {
  const circle = merge([answer("a", "a>j1", "j1>b", "b>j2", "j2>a")]);
  expect(pathOf(circle, "a")).toEqual({ nodes: "a b j1 j2", edges: "a>j1 b>j2 j1>b j2>a" });
});

describe("a job whose outputs come from different inputs", () => {
  const job = answer("x", "j0>a", "a>j1", "b>j1", "c>j1", "j1>x", "j1>y", "y>j2");
  const graph = merge([parted(job, "j1", "a c>x", "b>y")]);

  test("connects each output with its own inputs", () => {
    expect(pathOf(graph, "x")).toEqual({ nodes: "a c j0 j1 x", edges: "a>j1 c>j1 j0>a j1>x" });
    expect(pathOf(graph, "b")).toEqual({ nodes: "b j1 j2 y", edges: "b>j1 j1>y y>j2" });
  });

  test("has all of its inputs and outputs on its path", () => {
    expect(pathOf(graph, "j1").nodes).toBe("a b c j0 j1 j2 x y");
  });

  test("is on the path of each of its outputs", () => {
    const both = merge([parted(answer("z", "a>j1", "b>j1", "c>j1", "j1>x", "j1>y", "x>j2", "y>j2", "j2>z"), "j1", "a>x", "b>y")]);
    expect(pathOf(both, "z").nodes).toBe("a b j1 j2 x y z");
  });

  test("has no inputs for an output without sources, all for one without a report", () => {
    const none = merge([parted(answer("x", "a>j1", "j1>x", "j1>y"), "j1", ">x")]);
    expect([pathOf(none, "x").nodes, pathOf(none, "y").nodes]).toEqual(["j1 x", "a j1 y"]);
  });

  test("merges the sources of two times", () => {
    const then = answer("x", "b>j1", "d>j1", "j1>x", "j9>b");
    const now = parted(answer("x", "a>j1", "b>j1", "j1>x", "j1>y"), "j1", "a>x", "b>y");
    const apart = parted(then, "j1", "d>x");
    expect([merge([now, then]), merge([now, apart])].map((merged) => pathOf(merged, "x").nodes)).toEqual(["a b d j1 j9 x", "a d j1 x"]);
  });
});

test("path of a column includes both sides and cycles", () => {
  const edges = [column("a.x", "b.y"), column("b.y", "c.z"), column("c.z", "b.y"), column("a.q", "b.r")];
  const lit = litColumns(edges, [columnKey(id("b"), "y")]);
  expect([...lit.keys].sort()).toEqual([columnKey(id("a"), "x"), columnKey(id("b"), "y"), columnKey(id("c"), "z")]);
  expect(lit.edges).toEqual(edges.slice(0, 3));
});

test("columns with lineage come first, even without a schema", () => {
  const node = { ...merge([{ ...answer("a"), nodes: [{ ...apiNode("a"), fields: [{ name: "p", type: "int" }, { name: "x", type: "int" }] }] }]).nodes.get(id("a")) } as DatasetNode;
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
  const rows = rowsOf(node, edges, new Map(changes.map((change) => [columnKey(change.node, change.field), change])));
  expect(rows.map(({ name, type, mark }) => [name, type, mark])).toEqual([["p", "int", "added"], ["gone", "date", "removed"], ["x", "int", null], ["bare", "", null]]);
});

test("datasets of a path are unique", () => {
  const { keys } = litColumns([column("a.x", "b.x"), column("a.y", "b.x")], [columnKey(id("b"), "x")]);
  expect([...datasetsOf(keys)].sort()).toEqual([id("a"), id("b")]);
});

test("several columns have a color each; the first one counts on a shared path", () => {
  const [shared, own, other] = [column("a.x", "b.x"), column("a.y", "b.y"), column("c.z", "b.z")];
  const { keys, edges, hues } = litColumns([shared, own, other], [columnKey(id("b"), "x"), columnKey(id("b"), "y"), columnKey(id("a"), "x")]);
  expect([keys.size, edges]).toEqual([4, [shared, own]]);
  expect([shared, own, other, columnKey(id("a"), "y"), columnKey(id("a"), "x")].map((item) => hues.get(item))).toEqual([0, 1, undefined, 1, 2]);
});
