export type AssertionResult = "passed" | "warned" | "failed" | "notRun";

const WARNINGS = ["warn", "warning", "info"];

/** Return the result of a reported assertion; a failed one of severity `warn` is a warning. */
export function resultOf(assertion: Readonly<Record<string, unknown>>): AssertionResult {
  if (assertion["status"] === "not run") return "notRun";
  if (assertion["success"]) return "passed";
  return WARNINGS.includes(String(assertion["severity"]).toLowerCase()) ? "warned" : "failed";
}
