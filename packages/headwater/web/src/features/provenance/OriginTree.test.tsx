// @vitest-environment jsdom
import { render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Maker, Member, Origin } from "../../graph/provenance";
import { OriginTree } from "./OriginTree";

const member = (name: string, ...versions: string[]): Member => ({ id: `dataset:n:${name}`, namespace: "n", name, kind: "table", versions, tags: [], removal: null });
const origin = (members: Member[], by: Maker[] = [], isAbove = false): Origin => ({
  key: members.map(({ id }) => id).join(" "),
  title: members.length > 1 ? `${members.length} files` : (members[0]?.name ?? ""),
  where: "n",
  kind: "table",
  members,
  by,
  isAbove,
});
const run = (runId: string) => ({ runId, state: "COMPLETED" as const, startedAt: "2026-01-02T03:04:05Z", endedAt: null, durationMs: null, job: { namespace: "n", name: "load" } });
const maker = (inputs: Origin[], runs: string[] = []): Maker => ({
  job: "job:n:load",
  name: "load",
  entries: runs.map((runId) => ({ job: { namespace: "n", name: "load" }, run: run(runId), code: {}, inputs: [], outputs: [] })),
  commits: [],
  inputs,
});
const shown = (root: Origin) => {
  render(<OriginTree root={root} at="2026-01-03T00:00:00Z" />);
  return { user: userEvent.setup(), tree: screen.getByRole("region", { name: "Upstream versions" }) };
};

test("a dataset, its writer and its input are nested and link to the graph at the time", () => {
  const { tree } = shown(origin([member("orders", "v7")], [maker([origin([member("raw")])], ["r1"])]));
  const item = (name: RegExp) => within(tree).getByRole("link", { name }).closest("li");
  expect(item(/^orders/)?.contains(item(/^load/))).toBe(true);
  expect(item(/^load/)?.contains(item(/^raw/))).toBe(true);
  const address = new URL(within(tree).getByRole<HTMLAnchorElement>("link", { name: /^orders/ }).href);
  expect(address.searchParams.get("node")).toBe("dataset:n:orders");
  expect(address.search).toContain("2026-01-03");
  expect(within(tree).getByText("v7")).toBeTruthy();
});

test("a dropped dataset is marked", () => {
  const removal = { kind: "dropped" as const, at: "2026-01-02T00:00:00Z", job: { namespace: "n", name: "cleanup" }, runId: null, renamedTo: null, evidence: "reported" as const };
  const { tree } = shown(origin([{ ...member("tmp"), removal }]));
  expect(within(tree).getByText("Dropped").title).toBe("Dropped by cleanup");
});

test("missing versions, runs and commits are labeled", () => {
  const { tree } = shown(origin([member("orders")], [maker([origin([member("raw")]), origin([member("seen", "v1")], [], true)])]));
  expect(within(tree).getAllByText("no version reported")).toHaveLength(2);
  expect(within(tree).getByText("declared; no runs reported")).toBeTruthy();
  expect(within(tree).getByText("no commit reported")).toBeTruthy();
  expect(within(tree).getByText("source: no known run wrote it")).toBeTruthy();
  expect(within(tree).getByText("as above")).toBeTruthy();
});

test("a list of many files shows fifty, then all", async () => {
  const { user, tree } = shown(origin(Array.from({ length: 60 }, (_, place) => member(`file${place}`))));
  expect(within(tree).queryByRole("link", { name: "file0" })).toBeNull();
  await user.click(within(tree).getByText("All 60"));
  expect(await within(tree).findAllByRole("link")).toHaveLength(50);
  await user.click(within(tree).getByRole("button", { name: "Show 10 more" }));
  expect(within(tree).getAllByRole("link")).toHaveLength(60);
});
