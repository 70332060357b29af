import { expect, test } from "vitest";
import { resultOf } from "./assertion";

test("a failed assertion of severity warn is a warning, and one that was not run has not failed", () => {
  expect(resultOf({ success: true, severity: "warn" })).toBe("passed");
  expect(resultOf({ success: false })).toBe("failed");
  expect(resultOf({ success: false, severity: "WARN" })).toBe("warned");
  expect(resultOf({ success: null, status: "not run" })).toBe("notRun");
});
