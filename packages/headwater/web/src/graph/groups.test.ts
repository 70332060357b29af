import { describe, expect, test } from "vitest";
import { answer, id, NEAR } from "../test/graphs";
import { folded, framesOf } from "./groups";
import { merge } from "./merge";
import type { DatasetNode, JobNode, LineageEdge, LineageNode } from "./types";
import { visible } from "./visible";

/** Build a graph; `pipelines` maps the names of pipelines to their jobs. */
function graphOf(edges: string[], pipelines: Record<string, string[]> = {}) {
  const graph = merge([answer("a", ...edges)]);
  const owner = new Map(Object.entries(pipelines).flatMap(([pipeline, jobs]) => jobs.map((job) => [id(job), id(pipeline)] as const)));
  for (const node of graph.nodes.values()) if (node.type === "job") node.pipeline = owner.get(node.id) ?? null;
  return visible(graph, { ...NEAR, up: 99, down: 99 });
}

const names = (nodes: readonly LineageNode[]) => nodes.map((node) => node.name).sort().join(" ");
const pairs = (edges: readonly LineageEdge[]) => edges.map(({ from, to }) => `${from.slice(from.lastIndexOf(":") + 1)}>${to.slice(to.lastIndexOf(":") + 1)}`).sort().join(" ");
const FOLDING = { collapsed: [] as string[], chains: false, expanded: [] as string[] };
const LONG = ["a>j1", "j1>b", "b>j2", "j2>c", "c>j3", "j3>d", "d>j4", "j4>e"];

describe("frames", () => {
  test("contain the tasks of a pipeline and the datasets between them", () => {
    const { nodes, edges } = graphOf(LONG, { jP: ["j1", "j2"], jQ: ["j3", "j4"] });
    const frames = framesOf(nodes, edges);
    expect(frames.map(({ name, members }) => [name, members.map((member) => member.slice(-2)).join(" ")])).toEqual([["jP", "j1 :b j2"], ["jQ", "j3 :d j4"]]);
  });

  test("are not drawn around a single task", () => {
    const { nodes, edges } = graphOf(LONG, { jP: ["j1"] });
    expect(framesOf(nodes, edges)).toEqual([]);
  });

  test("have the platform of a task", () => {
    const { nodes, edges } = graphOf(LONG, { jP: ["j1", "j2"] });
    (nodes.find(({ name }) => name === "j2") as JobNode).platform = "AIRFLOW";
    expect(framesOf(nodes, edges)[0]?.platform).toBe("AIRFLOW");
  });
});

describe("a group node", () => {
  test("replaces a collapsed pipeline and keeps its edges", () => {
    const shown = graphOf(LONG, { jP: ["j1", "j2"] });
    const one = folded(shown, { ...FOLDING, collapsed: [id("jP")] }, new Set());
    expect(names(one.nodes)).toBe("a c d e j3 j4 jP");
    expect(pairs(one.edges)).toBe("a>jP c>j3 d>j4 j3>d j4>e jP>c");
    expect(one.nodes.find(({ name }) => name === "jP")).toMatchObject({ group: { kind: "pipeline", jobs: 2, datasets: 1 } });
    expect(folded(shown, FOLDING, new Set())).toBe(shown);
  });

  test("has the worst state of its nodes", () => {
    const shown = graphOf(LONG, { jP: ["j1", "j2"] });
    const nodeOf = (name: string) => shown.nodes.find((node) => node.name === name);
    (nodeOf("j1") as JobNode).run = { state: "COMPLETED" } as JobNode["run"];
    (nodeOf("j2") as JobNode).run = { state: "FAILED" } as JobNode["run"];
    (nodeOf("b") as DatasetNode).health = { state: "failed_checks", message: "", at: null, by: [] };
    const { nodes } = folded(shown, { ...FOLDING, collapsed: [id("jP")] }, new Set());
    expect(nodes.find(({ name }) => name === "jP")).toMatchObject({ run: { state: "FAILED" }, health: { state: "failed_checks" } });
  });

  test("replaces a chain within a pipeline", () => {
    const shown = graphOf(LONG, { jP: ["j1", "j2"] });
    const { nodes, edges } = folded(shown, { ...FOLDING, chains: true }, new Set([id("a")]));
    expect(names(nodes)).toBe("3 steps in a row 4 steps in a row a e");
    expect(edges).toHaveLength(3);
    expect(nodes.filter((node) => node.id.startsWith("chain:")).map((node) => (node as JobNode).pipeline)).toEqual([id("jP"), null]);
  });

  test("does not replace expanded chains and kept nodes", () => {
    const shown = graphOf(LONG);
    const chain = `chain:${id("j1")}`;
    expect(folded(shown, { ...FOLDING, chains: true, expanded: [chain] }, new Set()).nodes).toHaveLength(shown.nodes.length);
    expect(names(folded(shown, { ...FOLDING, chains: true }, new Set([id("c")])).nodes)).toBe("3 steps in a row 3 steps in a row a c e");
    expect(names(folded(graphOf(["a>j1", "j1>b"]), { ...FOLDING, chains: true }, new Set()).nodes), "one node alone").toBe("a b j1");
  });

  test("replaces a chain of datasets", () => {
    const { nodes } = folded(graphOf(["a>b", "b>c", "c>d"]), { ...FOLDING, chains: true }, new Set());
    expect(nodes.find(({ name }) => name === "2 steps in a row")).toMatchObject({ platform: null, run: null, group: { jobs: 0, datasets: 2 } });
  });

  test("keeps self-loops and distinct edges", () => {
    const shown = graphOf(["a>j1", "j1>a", "a>j2", "j2>b", "c>j2"]);
    expect(folded(shown, { ...FOLDING, chains: true }, new Set()).edges).toHaveLength(shown.edges.length);
    const loop = { ...shown, edges: [...shown.edges, { from: id("j2"), to: id("j2"), kind: "control" } as LineageEdge], nodes: shown.nodes.map((node) => (node.type === "job" ? { ...node, pipeline: id("jP") } : node)) };
    expect(pairs(folded(loop, { ...FOLDING, collapsed: [id("jP")] }, new Set()).edges)).toContain("jP>jP");
  });
});
