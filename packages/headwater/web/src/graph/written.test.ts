import { expect, test } from "vitest";
import { answer, column, id, NEAR } from "../test/graphs";
import { merge } from "./merge";
import { visible } from "./visible";
import { csvOf, fileName, jsonOf, mermaidOf } from "./written";

const GRAPH = merge([{ ...answer("j1", "a>j1", "j1>b", "j1~j2", "b>j3", "j3>c"), columns: [column("a.x", "b.x"), column("b.x", "c.x")] }]);
const SHOWN = visible(GRAPH, NEAR);

test("Mermaid draws datasets as cylinders and control edges dotted", () => {
  const text = mermaidOf({ ...SHOWN, nodes: SHOWN.nodes.map((node) => (node.id === id("a") ? { ...node, name: 'a<"&' } : node)) });
  expect(text.split("\n")[0]).toBe("flowchart LR");
  expect(text).toContain('[("a#lt;#quot;#amp;")]');
  expect(text).toMatch(/n\d --> n\d/);
  expect(text).toMatch(/n\d -\.-> n\d/);
  expect(text).not.toContain("j3");
});

test("JSON has the shown nodes and columns", () => {
  const exported = JSON.parse(jsonOf(SHOWN, GRAPH, { ...NEAR, node: "j1", at: "2026-01-01T00:00:00Z" })) as { asOf: string; nodes: unknown[]; columns: { to: { id: string } }[] };
  expect(exported.asOf).toBe("2026-01-01T00:00:00Z");
  expect(exported.nodes).toHaveLength(4);
  expect(exported.columns.map((edge) => edge.to.id)).toEqual([id("b")]);
});

test("CSV has the shown nodes with their neighbors", () => {
  const lines = csvOf(SHOWN).split("\r\n");
  expect(lines[0]).toBe('"type","kind","namespace","name","state","owners","tags","upstream","downstream"');
  expect(lines).toContain(`"job","task","n","j1","healthy","","","${id("a")}","${id("b")}"`);
  expect(lines).toHaveLength(SHOWN.nodes.length + 2);
});

test("file name has the node and the date", () => {
  const at = "2026-01-02T03:04:05Z";
  expect(fileName("dataset:s3://l:in/trips 1.csv", at)).toBe("lineage-trips_1.csv-2026-01-02");
  expect(fileName("job:n:dag.load", at)).toBe("lineage-dag.load-2026-01-02");
});
