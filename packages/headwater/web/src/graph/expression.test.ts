import { describe, expect, test } from "vitest";
import { marked, piecesOf, type Language } from "./code";
import { placesOf } from "./expression";

const found = (code: string, column: string, language: Language = "sql") => placesOf(code, language, column).map(([from, to]) => code.slice(from, to));

describe("the expression of an SQL column", () => {
  test.each([
    ["includes the expression before AS", "SELECT a, sum(x, 1) AS total, b FROM t", "total", ["sum(x, 1) AS total"]],
    ["includes the expression before an alias without AS", "select count(*) n from t", "n", ["count(*) n"]],
    ["is a plain name with its table", "SELECT DISTINCT t.a, b FROM t", "a", ["t.a"]],
    ["can have a quoted alias", 'SELECT x AS "Total" FROM t', "total", ['x AS "Total"']],
    ["can be the last item in parentheses", "INSERT INTO u (SELECT a, b AS c)", "c", ["b AS c"]],
    ["is found in upper and lower case", "SELECT A FROM t", "a", ["A"]],
    ["can end the text", "SELECT 1 AS one", "one", ["1 AS one"]],
  ])("%s", (_, sql, column, places) => {
    expect(found(sql, column)).toEqual(places);
  });

  test.each([
    ["a name in a condition", "SELECT b FROM t WHERE a", "a"],
    ["an argument", "SELECT max(a) AS b FROM t", "a"],
    ["a part of an expression", "SELECT a + 1 AS b FROM t", "a"],
    ["a string or a comment", "SELECT 'a', b -- a\nFROM t", "a"],
    ["a column of an INSERT", "INSERT INTO t (a, b) VALUES (1, 2)", "a"],
    ["a name without SELECT before it", "a", "a"],
  ])("is not %s", (_, sql, column) => {
    expect(found(sql, column)).toEqual([]);
  });

  test("is found in subqueries", () => {
    expect(found("SELECT a FROM (SELECT b AS a FROM t)", "a")).toEqual(["a", "b AS a"]);
  });
});

test("code lines that contain the column name are marked", () => {
  const code = 'rides = df.groupBy("hour")\n  .agg(F.count("*").alias("rides"))\n# rides\nrides_all = 1\nx = "rides" ';
  expect(found(code, "rides", "python")).toEqual(['rides = df.groupBy("hour")', '.agg(F.count("*").alias("rides"))', 'x = "rides"']);
});

test("marked pieces are the expression, and all pieces are the code", () => {
  const sql = "SELECT sum(x) AS total FROM t";
  const pieces = marked(piecesOf(sql, "sql"), placesOf(sql, "sql", "total"));
  expect(pieces.map((piece) => piece.text).join("")).toBe(sql);
  expect(pieces.filter((piece) => piece.isMarked).map((piece) => piece.text).join("")).toBe("sum(x) AS total");
});
