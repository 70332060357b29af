import { expect, test } from "vitest";
import { resultOf } from "./assertion";

test("an assertion that failed is a warning by its severity, and one that was not run is neither", () => {
  expect(resultOf({ success: true, severity: "warn" })).toBe("passed");
  expect(resultOf({ success: false })).toBe("failed");
  expect(resultOf({ success: false, severity: "WARN" })).toBe("warned");
  expect(resultOf({ success: null, status: "not run" })).toBe("notRun");
});
