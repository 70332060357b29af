// @vitest-environment jsdom
import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { AsOf, Sheet } from "./Sheet";

test("a sheet is the main landmark with one heading, and names the tab", () => {
  render(
    <Sheet icon="search" kind="Search" title="Results" name="Search orders" about="Two places" isBusy>
      <p>Below</p>
    </Sheet>,
  );
  const main = screen.getByRole("main");
  expect(within(main).getByRole("heading", { level: 1 }).textContent).toBe("Results");
  expect(main.getAttribute("aria-busy")).toBe("true");
  expect(within(main).getByText("Below")).toBeTruthy();
  expect(document.title).toBe("Search orders · headwater");
});

test("a past moment is stated with a link to now; the present is not", () => {
  const { rerender } = render(<AsOf at="2026-01-02T03:04:05Z" now="/impact?node=x" />);
  expect(screen.getByText(/As of 2026-01-02/)).toBeTruthy();
  expect(screen.getByRole<HTMLAnchorElement>("link", { name: "Now" }).href).toContain("/impact?node=x");
  rerender(<AsOf at={null} now="/impact?node=x" />);
  expect(screen.queryByText(/As of/)).toBeNull();
});
