import { expect, test } from "vitest";
import { answer, id } from "../test/graphs";
import { merge } from "./merge";
import { troubleOf, troubleOfFrame, type Trouble } from "./state";
import type { DatasetNode, JobNode } from "./types";

const { nodes } = merge([answer("a", "a>j1", "j1>b")]);
const job = (others: Partial<JobNode>) => ({ ...(nodes.get(id("j1")) as JobNode), ...others });
const ran = (state: string) => job({ run: { state } as JobNode["run"] });
const NONE = new Set<string>();

test("problems are failed, stale and late runs and failed checks", () => {
  const late = new Set([id("j1")]);
  expect(["FAILED", "ABORTED", "LOST", "COMPLETED"].map((state) => troubleOf(ran(state), NONE))).toEqual(["failed", "failed", "stale", null]);
  expect([troubleOf(ran("COMPLETED"), late), troubleOf(ran("LOST"), late), troubleOf(job({}), NONE)]).toEqual(["late", "stale", null]);
  const table = (failedChecks: number | null) => ({ ...(nodes.get(id("a")) as DatasetNode), failedChecks });
  expect([null, 0, 2].map((count) => troubleOf(table(count), late))).toEqual([null, null, "check"]);
});

test("a group has the worst state of its nodes", () => {
  const group = { kind: "pipeline" as const, jobs: 1, datasets: 1, failedChecks: 0, members: [id("j2")] };
  expect(troubleOf(job({ group }), new Set([id("j2")]))).toBe("late");
  expect(troubleOf(job({ group: { ...group, failedChecks: 1 } }), NONE)).toBe("check");
  expect(troubleOf({ ...ran("FAILED"), group: { ...group, failedChecks: 1 } }, NONE)).toBe("failed");
  const frame = { frame: { id: id("j9"), name: "p", platform: null, members: [id("j1"), id("a")] }, x: 0, y: 0, width: 1, height: 1 };
  const troubles = (trouble: Trouble | null) => new Map([[id("a"), trouble]]);
  expect(troubleOfFrame(frame, troubles("stale"), new Set([id("j9")]))).toBe("stale");
  expect(troubleOfFrame(frame, troubles("check"), new Set([id("j9")]))).toBe("check");
  expect(troubleOfFrame(frame, new Map([...troubles("check"), [id("j1"), "failed"]]), NONE)).toBe("failed");
  expect(troubleOfFrame(frame, troubles(null), new Set([id("j9")]))).toBe("late");
  expect(troubleOfFrame(frame, new Map(), NONE)).toBeNull();
});
