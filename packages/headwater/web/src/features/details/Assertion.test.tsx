// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { Assertion } from "./Assertion";

const NOT_NULL = { assertion: "not_null", column: "id", success: false };
const shown = (assertion: Record<string, unknown>, isLabeled = false) => {
  const { container } = render(<Assertion assertion={{ ...NOT_NULL, ...assertion }} isLabeled={isLabeled} />);
  return container;
};

test("a failed assertion of severity warn is labeled as a warning and is not red", () => {
  const warned = shown({ severity: "warn" });
  expect(warned.textContent).toBe("not_null id(warning)");
  const failed = shown({});
  expect(failed.textContent).toBe("not_null idfailed");
  expect(failed.querySelector(".hidden")?.textContent).toBe("failed");
  expect(warned.querySelector(".hidden")).toBeNull();
  expect(warned.firstElementChild?.className).not.toBe(failed.firstElementChild?.className);
});

test("the result is visible text on request", () => {
  expect(shown({ severity: "warn" }, true).querySelector(".muted")?.textContent).toBe("warning");
  expect(shown({}, true).querySelector(".muted")?.textContent).toBe("failed");
});
