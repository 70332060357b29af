import { expect, test } from "vitest";
import { answer, id } from "../test/graphs";
import { merge } from "./merge";
import { needsMark, troubleOf, troubleOfFrame } from "./state";
import type { DatasetNode, JobNode, LineageNode } from "./types";

const { nodes } = merge([answer("a", "a>j1", "j1>b")]);
const of = <Node extends LineageNode>(node: Node, state: Node["health"]["state"], others: Partial<Node> = {}) => ({ ...node, health: { ...node.health, state }, ...others });
const job = nodes.get(id("j1")) as JobNode;
const table = nodes.get(id("a")) as DatasetNode;
const ran = (state: string) => ({ run: { state } as JobNode["run"] });

test("the problem of a node is its state, or a run without an end event", () => {
  const shown = (["failed", "failed_checks", "blocked", "late", "unknown", "healthy", "streaming", "ad_hoc"] as const).map((state) => troubleOf(of(table, state)));
  expect(shown).toEqual(["failed", "check", "blocked", "late", null, null, null, null]);
  expect([troubleOf(of(job, "unknown", ran("LOST"))), troubleOf(of(job, "blocked", ran("LOST"))), troubleOf(of(job, "unknown"))]).toEqual(["stale", "blocked", null]);
});

test("a problem that the run already shows has no mark of its own", () => {
  expect([of(job, "failed", ran("FAILED")), of(job, "failed", ran("RUNNING")), of(job, "failed"), of(table, "failed")].map((node) => needsMark(node, "failed"))).toEqual([false, true, true, true]);
  expect((["check", "stale", "blocked", "late"] as const).map((trouble) => needsMark(job, trouble))).toEqual([false, false, true, true]);
});

test("a frame has the problem of its pipeline, whatever its nodes have", () => {
  const frame = (state: LineageNode["health"]["state"] | null) => ({ frame: { id: id("j9"), name: "p", platform: null, health: state && { ...job.health, state }, members: [id("j1"), id("a")] }, x: 0, y: 0, width: 1, height: 1 });
  expect((["failed", "late", "blocked", "healthy", "unknown", null] as const).map((state) => troubleOfFrame(frame(state)))).toEqual(["failed", "late", "blocked", null, null, null]);
});
