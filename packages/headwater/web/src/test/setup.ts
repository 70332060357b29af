import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(() => {
  if (typeof document === "undefined") return;
  cleanup();
  localStorage.clear(); // all files of a process share it
  sessionStorage.clear();
});
