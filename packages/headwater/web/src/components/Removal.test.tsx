// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { RemovalState, titleOfRemoval, type Removal } from "./Removal";

const renamed: Removal = {
  kind: "renamed",
  at: "2026-01-02T03:04:05Z",
  job: { namespace: "n", name: "swap" },
  runId: "r",
  renamedTo: { id: "dataset:n:new", namespace: "n", name: "new" },
  evidence: "reported",
};

test("a renamed dataset links to its new name", () => {
  const { container, getByRole } = render(<RemovalState removal={renamed} />);
  expect(container.textContent).toMatch(/^Renamed to new by swap /);
  expect(getByRole("link").getAttribute("href")).toContain("dataset%3An%3Anew");
});

test("a removal without a run names no job", () => {
  expect(titleOfRemoval({ ...renamed, kind: "dropped", job: null, renamedTo: null })).toBe("Dropped");
  expect(titleOfRemoval({ ...renamed, evidence: "sql" })).toBe("Renamed to new by swap (read from SQL)");
});
