import { expect, test } from "vitest";
import { answer, column, id, apiNode } from "../test/graphs";
import { linesOf, pageOf, pathRows, stepsOf, type ColumnRow } from "./columns";
import { litColumns } from "./lit";
import { merge } from "./merge";
import { ALL_ROWS, type DatasetNode } from "./types";

const A = id("a");
const ROWS: ColumnRow[] = Array.from({ length: 25 }, (_, place) => ({ name: `c${place}`, type: "int", isRelated: true, mark: null }));
const names = (page: { rows: ColumnRow[] }) => page.rows.map((row) => row.name);
const of = (text: string, page: number, ...lit: string[]) => pageOf(A, ROWS, new Set(lit.map((name) => `${A}|${name}`)), { text, page });

test("page has ten columns, the last page the rest", () => {
  expect(names(pageOf(A, ROWS, new Set()))).toEqual(ROWS.slice(0, 10).map((row) => row.name));
  expect(of("", 2)).toMatchObject({ all: 25, found: 25, page: 2, pages: 3 });
  expect(names(of("", 2))).toEqual(["c20", "c21", "c22", "c23", "c24"]);
  expect(of("", 9).page).toBe(2);
});

test("column search matches parts of names case-insensitively", () => {
  expect(names(of(" C2 ", 0))).toEqual(["c2", "c20", "c21", "c22", "c23", "c24"]);
  expect(of("none", 1)).toMatchObject({ rows: [], found: 0, page: 0, pages: 1, all: 25 });
});

test("highlighted columns come first", () => {
  expect(names(of("", 0, "c24", "c12")).slice(0, 3)).toEqual(["c12", "c24", "c0"]);
});

test("lines connect shown columns; hidden ones are counted", () => {
  const edges = [column("a.c1", "b.c1"), column("a.c12", "b.c1"), column("a.c1", "b.c12"), column("a.c1", "z.c1")];
  const pages = new Map([[A, of("", 0)], [id("b"), of("", 0)]]);
  expect(linesOf(edges, pages)).toEqual({ lines: [edges[0]], left: 2 });
  expect(linesOf(edges, new Map([[A, of("", 1)], [id("b"), of("", 0)]]))).toEqual({ lines: [edges[1]], left: 2 });
});

test("lines are sorted from top to bottom", () => {
  const edges = [column("a.c5", "b.c1"), column("a.c0", "b.c2"), column("a.c3", "b.c0")];
  expect(linesOf(edges, new Map([[A, of("", 0)], [id("b"), of("", 0)]])).lines).toEqual([edges[1], edges[2], edges[0]]);
});

test("collapsed dataset shows and counts its columns on the path", () => {
  const node = merge([{ ...answer("a"), nodes: [{ ...apiNode("a"), fields: [{ name: "x", type: "int" }, { name: "y", type: "int" }] }] }]).nodes.get(A) as DatasetNode;
  const edges = [column("a.x", "b.x")];
  expect(pathRows(node, edges, litColumns(edges, [`${id("b")}|x`]).keys)).toEqual({ rows: [{ name: "x", type: "int", isRelated: true, mark: null }], of: 2 });
  expect(pathRows(node, edges, new Set([`${id("b")}|x`]))).toBeNull();
});

test("row filter leads to a separate row", () => {
  const edge = { from: { id: A, field: "x" }, to: { id: id("b"), field: null }, how: "FILTER", isDirect: false };
  const graph = merge([{ ...answer("a", "a>j", "j>b"), columns: [edge] }]);
  expect(graph.columns).toEqual([{ ...edge, to: { id: id("b"), field: ALL_ROWS } }]);
});

test("steps of a column tree are those to its farthest column", () => {
  const leaf = { children: [] };
  expect(stepsOf(leaf)).toBe(0);
  expect(stepsOf({ children: [leaf, { children: [leaf, { children: [leaf] }] }] })).toBe(3);
});
