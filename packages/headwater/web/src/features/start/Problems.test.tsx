// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Answer } from "../../api/client";
import { Problems } from "./Problems";

type Finding = Answer<"findings">["items"][number];

const finding = (kind: string, subject: string, others: Partial<Finding> = {}): Finding => ({
  kind, subject, severity: "error", message: "broken", remedy: "", at: null, column: null, runId: null,
  mutedUntil: null, note: null, state: "open", ...others,
}); // prettier-ignore

function shown(...findings: Finding[]) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(["findings", {}], { items: findings, next: null } satisfies Answer<"findings">);
  render(
    <QueryClientProvider client={client}>
      <Problems isHealthy={findings.every(({ severity }) => severity !== "error")} />
    </QueryClientProvider>,
  );
  return userEvent.setup();
}

const group = (name: string) => within(screen.getByRole("region", { name }));

test("no findings show the all-clear message", () => {
  shown();
  expect(screen.getByText("No failures, late jobs or failed checks.")).toBeTruthy();
  expect(screen.queryByRole("region")).toBeNull();
});

test("a warning about a failed job prevents the all-clear message", () => {
  shown(finding("failed", "job:n:load", { severity: "warning" }));
  expect(group("Failed").getAllByRole("link")).toHaveLength(1);
  expect(screen.queryByText("No failures, late jobs or failed checks.")).toBeNull();
});

test("findings are grouped by kind, with their number", () => {
  shown(finding("failed", "job:n:load"), finding("late", "job:n:sum"), finding("quality", "dataset:n:orders"), finding("failed", "job:n:copy"));
  expect(group("Failed").getByRole("heading").textContent).toBe("Failed 2");
  expect(group("Late").getByRole("heading").textContent).toBe("Late 1");
  expect(group("Failed checks").getByRole("link").textContent).toContain("orders");
  expect(screen.queryByRole("region", { name: "No end event" })).toBeNull();
});

test("a failed pipeline links to the task that failed", () => {
  const cause = { kind: "failed", subject: "job:n:dag.load", severity: "error", message: "no rows", remedy: "", at: null, column: null, runId: "r2" } as const;
  shown(finding("failed", "job:n:dag", { runId: "r1", causes: [cause] }));
  const link = group("Failed").getByRole<HTMLAnchorElement>("link");
  expect(new URL(link.href).searchParams.get("open")).toBe("run:r2");
  expect(link.textContent).toContain("no rows");
});

test("five findings are shown, then all", async () => {
  const user = shown(...Array.from({ length: 7 }, (_, place) => finding("failed", `job:n:job${place}`)));
  expect(group("Failed").getAllByRole("link")).toHaveLength(5);
  await user.click(group("Failed").getByRole("button", { name: "Show 2 more" }));
  expect(group("Failed").getAllByRole("link")).toHaveLength(7);
});
