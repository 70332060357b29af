import { describe, expect, it } from "vitest";
import { canChange, topicsOf } from "./topics";

const GRAPH = { key: ["graph", { node: "dataset:hive://lake:nyc.raw" }], data: { nodes: [{ id: "job:nyc:flow.train" }] } };
const run = (runId: string, change: object = {}) => topicsOf({ eventType: "COMPLETE", run: { runId }, job: { namespace: "nyc", name: "other" }, ...change });
const changes = (event: ReturnType<typeof run>, key: readonly unknown[], data: unknown = {}) => canChange([event], { key, data }, new Set());

describe("an event changes", () => {
  it("the events of its run only", () => {
    expect(changes(run("1"), ["events", "1"])).toBe(true);
    expect(changes(run("1"), ["events", "2"])).toBe(false);
  });

  it("graphs that contain its job, one of its datasets by any name, or a parent job", () => {
    expect(canChange([run("1")], GRAPH, new Set())).toBe(false);
    for (const change of [
      { job: { namespace: "nyc", name: "flow.train" } },
      { inputs: [{ namespace: "s3a://lake", name: "warehouse/raw" }] },
      { outputs: [{ namespace: "s3", name: "x", facets: { symlinks: { identifiers: [{ namespace: "hive", name: "nyc.raw" }] } } }] },
      { run: { runId: "1", facets: { parent: { job: { namespace: "nyc", name: "flow.train" } } } } },
    ])
      expect(canChange([run("1", change)], GRAPH, new Set())).toBe(true);
  });

  it("graphs that an earlier event of its run could change", () => {
    const related = new Set<string>();
    const first = run("1", { eventType: "START", inputs: [{ namespace: "hive", name: "nyc.raw" }] });
    const last = run("1", { outputs: [{ namespace: "hive", name: "nyc.new" }] });
    expect(canChange([last], GRAPH, related)).toBe(false);
    expect(canChange([first], GRAPH, related)).toBe(true);
    expect(canChange([last], GRAPH, related)).toBe(true);
  });

  it("neither graphs nor names when a run only continues", () => {
    const heartbeat = run("1", { eventType: "RUNNING", job: { namespace: "nyc", name: "flow.train" } });
    expect(canChange([heartbeat], GRAPH, new Set())).toBe(false);
    expect(changes(heartbeat, ["search", {}])).toBe(false);
    expect(changes(heartbeat, ["runs", {}])).toBe(true);
  });

  it("no runs if it has no run", () => {
    const described = topicsOf({ dataset: { namespace: "hive", name: "nyc.raw" } });
    expect(changes(described, ["runs", {}])).toBe(false);
    expect(canChange([described], GRAPH, new Set())).toBe(true);
  });

  it("all other queries, and answers that are missing", () => {
    expect(changes(run("1"), ["health", {}])).toBe(true);
    expect(canChange([run("1")], { ...GRAPH, data: undefined }, new Set())).toBe(true);
  });
});
