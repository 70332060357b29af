import { describe, expect, it } from "vitest";
import { storedAnswer, keyOf } from "./oneFile";

const hit = (name: string, text: string, matched: string) => ({ name, text, matched });
const content = {
  answers: {
    'graph[["level","task"],["node","a"]]': { node: "a", nodes: { pool: [1, 0] }, edges: [] },
    search: [hit("rides", "rides", "name"), hit("rides", "Rides_total", "column"), hit("weather", "weather", "name")],
  },
  pool: [{ id: "x" }, { id: "y" }],
};

describe("answers of a file", () => {
  it("are found without the parameters of size, in any order of the others", () => {
    const query = { node: "a", up: 100, down: 2, level: "task", grown: [], columns: true, asOf: undefined, datasets: null };
    expect(keyOf("graph", query)).toBe('graph[["level","task"],["node","a"]]');
    expect(storedAnswer(content, "graph", query)).toEqual({ node: "a", nodes: [{ id: "y" }, { id: "x" }], edges: [] });
  });

  it("are missing at other moments, for other filters and for unfolded nodes", () => {
    for (const other of [{ asOf: "2026-01-01" }, { owner: "me" }, { grown: ["up:b"] }]) {
      expect(storedAnswer(content, "graph", { node: "a", level: "task", ...other })).toBeUndefined();
    }
  });

  it("include a search of names and columns with counts", () => {
    const found = storedAnswer(content, "search", { text: "RIDES", limit: 1 }) as { items: object[]; counts: object; total: number };
    expect(found.items).toEqual([hit("rides", "rides", "name")]);
    expect(found.counts).toMatchObject({ name: 1, column: 1, tag: 0 });
    expect(found.total).toBe(2);
    expect(storedAnswer(content, "search", { text: "rides", matched: "column" })).toMatchObject({ items: [hit("rides", "Rides_total", "column")] });
  });
});
