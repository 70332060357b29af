// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { HealthState, type Health } from "./HealthState";
import { ShownTime } from "./now";

test("a stream states the age of its last event", () => {
  const at = new Date(Date.now() - 6.5 * 86_400_000).toISOString();
  const { container } = render(<HealthState health={{ state: "streaming", message: "last event", at, by: [] }} />);
  expect(container.textContent).toBe("Streaming, last event 6 d ago");
});

test("states name the node that failed, and how long a node is late", () => {
  const job = { id: "job:n:dag.load", type: "job" as const, namespace: "n", name: "dag.load" };
  const at = new Date(Date.now() - 3.2 * 86_400_000).toISOString();
  const textOf = (health: Health) => render(<HealthState health={health} />).container.textContent;
  expect(textOf({ state: "blocked", message: "not written since dag.load failed", at, by: [job] })).toBe("Not rebuilt: load failed 3 d ago");
  expect(textOf({ state: "blocked", message: "shows data from before checks of t failed", at, by: [{ ...job, type: "dataset", name: "db.t" }] })).toBe("Old data: checks of t failed 3 d ago");
  const late = "not run since 2026-11-21; the pipeline ran 4 times without it; was due";
  expect(textOf({ state: "late", message: late, at, by: [] })).toBe(`Late 3 d, ${late} 3 d ago`);
});

test.each([
  ["2025-11-21T11:00:00Z", "Late 3 h"],
  ["00000000-0000-4000-8000-000000000001", "Late"],
])("lateness as of %s is counted to that time", (shown, label) => {
  const health: Health = { state: "late", message: "was due", at: "2025-11-21T08:00:00Z", by: [] };
  const { container } = render(<ShownTime value={shown}><HealthState health={health} /></ShownTime>);
  expect(container.querySelector(".clip")?.textContent).toBe(label);
});
