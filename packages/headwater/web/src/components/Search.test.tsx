// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Search } from "./Search";

const hit = (name: string, isFuzzy = false) => ({ id: `dataset:n:${name}`, namespace: "n", name, type: "dataset", kind: "table", matched: "name", text: name, isFuzzy, tags: [], owners: [], platform: null });

function answerWith(names: string[], isFuzzy = false, unreadTexts = 0) {
  const body = { items: names.map((name) => hit(name, isFuzzy)), counts: { name: names.length }, unreadTexts, next: null };
  vi.stubGlobal("fetch", vi.fn(() => Promise.resolve(new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } }))));
}

beforeEach(() => {
  history.replaceState(null, "", "/");
  answerWith(["orders", "order_items", "customers"]);
});
afterEach(() => vi.unstubAllGlobals());

async function searched(text = "ord") {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Search />
    </QueryClientProvider>,
  );
  const user = userEvent.setup();
  const box = screen.getByRole("combobox", { name: "Search the lineage" });
  await user.keyboard("/");
  expect(document.activeElement).toBe(box);
  await user.keyboard(text);
  return { user, box };
}

/** The option that the combobox names as active. */
const active = (box: HTMLElement) => document.getElementById(box.getAttribute("aria-activedescendant") ?? "")?.textContent;

test("typing opens the results with the first one active", async () => {
  const { box } = await searched();
  expect(await screen.findAllByRole("option")).toHaveLength(3);
  expect(box.getAttribute("aria-expanded")).toBe("true");
  expect(box.getAttribute("aria-controls")).toBe(screen.getByRole("listbox", { name: "Search results" }).id);
  await waitFor(() => expect(active(box)).toContain("orders"));
  expect(screen.getByRole("option", { selected: true }).textContent).toContain("orders");
});

test("arrow keys move through the results and around their ends", async () => {
  const { user, box } = await searched();
  await screen.findAllByRole("option");
  await user.keyboard("{ArrowDown}");
  await waitFor(() => expect(active(box)).toContain("order_items"));
  await user.keyboard("{ArrowUp}{ArrowUp}");
  await waitFor(() => expect(active(box)).toContain("customers"));
  await user.keyboard("{ArrowDown}");
  await waitFor(() => expect(active(box)).toContain("orders"));
  expect(document.activeElement).toBe(box);
});

test("Enter opens the active result", async () => {
  const { user, box } = await searched();
  await screen.findAllByRole("option");
  await user.keyboard("{ArrowDown}{Enter}");
  expect(location.pathname).toBe("/lineage");
  expect(location.search).toContain("order_items");
  expect(screen.queryByRole("listbox")).toBeNull();
  expect((box as HTMLInputElement).value).toBe("");
});

test("a click opens a result", async () => {
  const { user } = await searched();
  await user.click(await screen.findByRole("option", { name: /customers/ }));
  expect(location.search).toContain("customers");
});

test("Escape closes the results and keeps the text", async () => {
  const { user, box } = await searched();
  await screen.findAllByRole("option");
  await user.keyboard("{Escape}");
  expect(screen.queryByRole("listbox")).toBeNull();
  expect(box.getAttribute("aria-expanded")).toBe("false");
  expect((box as HTMLInputElement).value).toBe("ord");
});

test("unmatched text says where it was searched", async () => {
  answerWith([]);
  const { box } = await searched("zzz");
  expect(await screen.findByText(/No matches for “zzz”/)).toBeTruthy();
  expect(box.getAttribute("aria-activedescendant")).toBeNull();
});

test("SQL texts that were not read yet are counted beside the matches", async () => {
  answerWith([], false, 3);
  await searched("zzz");
  expect(await screen.findByText(/The SQL of 3 jobs was not read yet/)).toBeTruthy();
});

test("similar names are listed as such and Enter opens the first", async () => {
  answerWith(["orders_hourly_forecast", "orders_hourly_actuals"], true);
  const { user } = await searched("orders_hourly_forcast");
  await screen.findAllByRole("option");
  expect(screen.getByRole("link").textContent).toBe("2 similar names");
  await user.keyboard("{Enter}");
  await waitFor(() => expect(location.search).toContain("orders_hourly_forecast"));
});
