// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { ColumnDescription } from "./About";

const inheritedDescription = { text: "Fare in dollars", column: { namespace: "hive://h", name: "taxi.raw", field: "fare" } };
const shown = (description: string | null, isInherited: boolean) =>
  render(<ColumnDescription column={{ description, inheritedDescription: isInherited ? inheritedDescription : null }} />).container.textContent;

test("an inherited description names its column, a reported one does not", () => {
  expect(shown(null, true)).toBe("Fare in dollars (inherited from raw.fare)");
  expect(shown("Own", false)).toBe("Own");
  expect(shown(null, false)).toBe("");
});
