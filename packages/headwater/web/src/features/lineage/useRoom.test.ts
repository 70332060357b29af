// @vitest-environment jsdom
import { renderHook } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { useRoom } from "./useRoom";

test("room is the height of main without toolbar, timeline and notes", () => {
  const main = document.body.appendChild(document.createElement("main"));
  vi.spyOn(main, "clientHeight", "get").mockReturnValue(616);
  const { result } = renderHook(() => useRoom(false));
  expect(result.current).toEqual({ width: window.innerWidth, height: 400 });
});
