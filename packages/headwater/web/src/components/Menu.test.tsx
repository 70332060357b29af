// @vitest-environment jsdom
import { render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Menu } from "./Menu";

function shown() {
  const acts = { png: vi.fn(), svg: vi.fn(), json: vi.fn() };
  render(
    <>
      <Menu
        icon="save"
        text="Export"
        title="Save the graph"
        choices={[
          { text: "Picture", about: "PNG", act: acts.png },
          { text: "Drawing", about: "SVG", act: acts.svg },
          { text: "Data", about: "JSON", act: acts.json },
        ]}
      >
        <input aria-label="Note" />
      </Menu>
      <button type="button">Elsewhere</button>
    </>,
  );
  return { acts, user: userEvent.setup(), button: screen.getByRole("button", { name: "Export" }) };
}

/** Focus moves in the next frame. */
const focused = (name: RegExp) => waitFor(() => expect(document.activeElement).toBe(item(name)));
const item = (name: RegExp) => screen.getByRole("menuitem", { name });

test("a click opens the menu and focuses its first item", async () => {
  const { user, button } = shown();
  await user.click(button);
  await focused(/Picture/);
  expect(button.getAttribute("aria-expanded")).toBe("true");
  expect(button.getAttribute("aria-haspopup")).toBe("menu");
  expect(screen.getByRole("menu", { name: "Export" }).id).toBe(button.getAttribute("aria-controls"));
});

test("arrow keys, Home, End and letters move through the items", async () => {
  const { user, button } = shown();
  button.focus();
  await user.keyboard("{ArrowDown}");
  await focused(/Picture/);
  await user.keyboard("{ArrowDown}");
  await focused(/Drawing/);
  await user.keyboard("{End}");
  await focused(/Data/);
  await user.keyboard("{ArrowDown}");
  await focused(/Picture/);
  await user.keyboard("{ArrowUp}");
  await focused(/Data/);
  await user.keyboard("{Home}");
  await focused(/Picture/);
  await user.keyboard("dr");
  await focused(/Drawing/);
});

test("Enter selects an item once, closes the menu and focuses its button", async () => {
  const { user, button, acts } = shown();
  button.focus();
  await user.keyboard("{ArrowDown}");
  await focused(/Picture/);
  await user.keyboard("{ArrowDown}");
  await focused(/Drawing/);
  await user.keyboard("{Enter}");
  expect(acts.svg).toHaveBeenCalledOnce();
  expect(acts.png).not.toHaveBeenCalled();
  expect(screen.queryByRole("menu")).toBeNull();
  expect(document.activeElement).toBe(button);
});

test("Escape closes the menu only, and focuses its button", async () => {
  const { user, button } = shown();
  const outside = vi.fn();
  window.addEventListener("keydown", outside);
  await user.click(button);
  await focused(/Picture/);
  await user.keyboard("{Escape}");
  window.removeEventListener("keydown", outside);
  expect(screen.queryByRole("menu")).toBeNull();
  expect(document.activeElement).toBe(button);
  expect(outside).not.toHaveBeenCalled();
});

test("a click elsewhere closes the menu, one into its field does not", async () => {
  const { user, button } = shown();
  await user.click(button);
  await focused(/Picture/);
  await user.type(screen.getByRole("textbox", { name: "Note" }), "draft");
  expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Note" }).value).toBe("draft");
  await user.click(screen.getByRole("button", { name: "Elsewhere" }));
  expect(screen.queryByRole("menu")).toBeNull();
});
