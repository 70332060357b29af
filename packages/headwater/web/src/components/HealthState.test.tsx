// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { HealthState } from "./HealthState";

test("a stream states the age of its last event", () => {
  const at = new Date(Date.now() - 6.5 * 86_400_000).toISOString();
  const { container } = render(<HealthState health={{ state: "streaming", message: "last event", at, by: [] }} />);
  expect(container.textContent).toBe("Streaming, last event 6 d ago");
});
