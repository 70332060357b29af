import { describe, expect, test } from "vitest";
import { answer, id, apiNode, NEAR } from "../test/graphs";
import { merge } from "./merge";
import type { Graph, GraphAnswer, LineageNode, Side } from "./types";
import { formatGrip } from "./grips";
import { fold, grow, type View } from "./view";
import { farthest, visible } from "./visible";

const CHAIN = merge([answer("m", "a>j1", "j1>m", "m>j2", "j2>b", "b>j3", "j3>c")]);

function shownNames(graph: Graph, view: Partial<View> = {}): string {
  return visible(graph, { ...NEAR, ...view }).nodes.map((node) => node.name).sort().join(" ");
}

describe("the visible graph", () => {
  test("is the root with one step on each side", () => {
    expect(shownNames(CHAIN)).toBe("j1 j2 m");
  });

  test("respects the depth of each side", () => {
    expect(shownNames(CHAIN, { up: 2, down: 0 })).toBe("a j1 m");
    expect(shownNames(CHAIN, { up: 0, down: 99 })).toBe("b c j2 j3 m");
  });

  test("includes one step beyond an expanded node", () => {
    const grown = [formatGrip("down", id("j2")), formatGrip("down", id("b"))];
    expect(shownNames(CHAIN, { grown })).toBe("b j1 j2 j3 m");
    expect(shownNames(CHAIN, { grown: [formatGrip("down", id("b"))] }), "b itself is not shown").toBe("j1 j2 m");
    expect(shownNames(CHAIN, { grown: [formatGrip("up", id("j1")), formatGrip("up", id("a"))] }), "nothing is before a").toBe("a j1 j2 m");
  });

  test("collapses neighbors beyond a limit, those with problems last", () => {
    const fan = merge([answer("m", "a>j0", "j0>m", ...Array.from({ length: 20 }, (_, nth) => `m>j${nth + 1}`))]);
    (fan.nodes.get(id("j20")) as LineageNode).health.state = "failed";
    expect(shownNames(fan, { most: 3 })).toBe("j0 j1 j2 j20 m");
    const { hidden, isCut } = visible(fan, { ...NEAR, most: 3 });
    expect([hidden.get(id("m"))?.down, isCut]).toEqual([17, true]);
    const all = visible(fan, { ...NEAR, most: 3, grown: [formatGrip("down", id("m"))] });
    expect([all.nodes.length, all.isCut]).toEqual([22, false]);
    expect(visible(fan, { ...NEAR, most: 20 }).isCut).toBe(false);
    const picks = [{ of: formatGrip("down", id("m")), node: id("j9") }, { of: formatGrip("down", id("x")), node: id("j8") }];
    expect(shownNames(fan, { most: 3, picks })).toBe("j0 j1 j2 j20 j9 m");
    expect(shownNames(fan, { most: 3, picks, folded: [formatGrip("down", id("m"))] }), "not on a collapsed side").toBe("j0 m");
  });

  test("ends at a collapsed side", () => {
    expect(shownNames(CHAIN, { down: 9, folded: [formatGrip("down", id("j2"))] })).toBe("j1 j2 m");
    expect(shownNames(CHAIN, { grown: [formatGrip("down", id("j2"))], folded: [formatGrip("down", id("j2"))] }), "also if expanded").toBe("j1 j2 m");
  });

  test("counts hidden neighbors of each node", () => {
    const { hidden } = visible(CHAIN, NEAR);
    expect(hidden.get(id("j1"))).toEqual({ up: 1, down: 0 });
    expect(hidden.get(id("j2"))).toEqual({ up: 0, down: 1 });
  });

  test("counts the nodes that expanding a side shows", () => {
    const graph = merge([{ ...answer("m", "a>j1", "j1>m", "m>j2", "j2>b", "j2>c", "b>j3", "c>j3", "j3>d"), nodes: ["m", "a", "j1", "j2", "b", "c", "d", "j3"].map((name) => apiNode(name, { m: 1, j1: 4, j2: 3 }[name] ?? 0, { m: 1, a: 1, j1: 1, j2: 2, b: 1, c: 1, j3: 1 }[name] ?? 0)) }]);
    const opened = (view: View, side: Side, name: string) => {
      const [before, after] = [visible(graph, view), visible(graph, grow(view, side, id(name)))];
      return [before.more.get(id(name))?.[side], after.nodes.length - before.nodes.length];
    };
    expect(opened(NEAR, "down", "j2")).toEqual([2, 2]);
    expect(opened({ ...NEAR, down: 9 }, "down", "j2"), "all nodes are shown").toEqual([0, 0]);
    const deep = { ...NEAR, down: 9 };
    expect(opened(fold(deep, "down", id("j2")), "down", "j2"), "all collapsed nodes return").toEqual([4, 4]);
    const grown = grow(grow(NEAR, "down", id("j2")), "down", id("b"));
    expect(opened(fold(grown, "down", id("j2")), "down", "j2"), "also nodes expanded there").toEqual([3, 3]);
    expect(visible(graph, fold(NEAR, "up", id("j1"))).more.get(id("j1"))?.up, "three are not loaded").toBe(4);
    expect(visible(graph, { ...NEAR, folded: [formatGrip("up", id("gone")), formatGrip("up", id("d"))] }).nodes).toHaveLength(3);
  });

  test("omits nodes that are not loaded", () => {
    const graph = merge([answer("m")]);
    graph.edges.push({ from: id("m"), to: id("j9"), kind: "data" });
    expect(shownNames(graph)).toBe("m");
  });

  test("ends at cycles", () => {
    expect(shownNames(merge([answer("a", "a>j1", "j1>a")]), { up: 9, down: 9 })).toBe("a j1");
  });
});

describe("control edges", () => {
  const graph = merge([answer("j1", "a>j1", "j1>b", "b>j2", "j0~j1", "j1~j2", "j2~j7")]);

  test("include only jobs next to a root", () => {
    const shown = visible(graph, { ...NEAR, down: 2 });
    expect(shown.nodes.map((node) => node.name).sort()).toEqual(["a", "b", "j0", "j1", "j2"]);
    expect(shown.edges.filter((edge) => edge.kind === "control").map((edge) => edge.to)).toEqual([id("j1"), id("j2")]);
    expect(shown.left.control).toBe(0);
  });

  test("are counted if hidden", () => {
    const shown = visible(graph, { ...NEAR, down: 2, control: false });
    expect(shown.edges.every((edge) => edge.kind === "data")).toBe(true);
    const all = visible(graph, { ...NEAR, down: 2 });
    expect(shown.left.control).toBe(all.edges.length - shown.edges.length);
    expect(shown.left.control).toBe(2);
  });
});

describe("merge", () => {
  test("prefers the first response and keeps each edge once", () => {
    const [first, second] = [answer("a", "a>j1"), answer("j1", "a>j1", "j1>b")];
    first.columns.push({ from: { id: id("a"), field: "x" }, to: { id: id("b"), field: "x" }, how: "IDENTITY", isDirect: true });
    second.columns.push(...first.columns);
    for (const [answer, name] of [[first, "of the first"], [second, "of the second"]] as const) for (const node of answer.nodes) node.name = name;
    second.nodes.push({ ...apiNode("k"), kind: "unknown" });
    const graph = merge([first, second]);
    expect(graph.nodes.get(id("j1"))?.name).toBe("of the first");
    expect(graph.edges).toHaveLength(2);
    expect(graph.columns).toHaveLength(1);
    expect(graph.roots).toEqual([id("a")]);
    expect(graph.nodes.get(id("k"))?.kind).toBe("table");
  });

  test("counts neighbors of both times", () => {
    const [now, then] = [answer("m", "a>j1", "j1>m"), answer("m", "b>j1", "j1>m")];
    const leave = (of: GraphAnswer, up: number) => ({ ...of, nodes: of.nodes.map((node) => (node.id === id("j1") ? { ...node, up } : node)) });
    const graph = merge([leave(now, 2), leave(then, 4)]);
    expect(graph.nodes.get(id("j1"))).toMatchObject({ up: 5, down: 1 });
  });

  test("without responses is empty", () => {
    expect(merge([])).toMatchObject({ roots: [], reach: { up: 0, down: 0 }, left: { jobs: 0 }, edges: [] });
  });
});

test("farthest node is found in cycles", () => {
  expect([farthest(CHAIN, "up"), farthest(CHAIN, "down")]).toEqual([2, 4]);
  expect(farthest(merge([answer("m", "m>j1", "j1>m", "j2~j1")]), "down")).toBe(1);
});
