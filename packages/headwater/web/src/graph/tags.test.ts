import { expect, test } from "vitest";
import { columnTags, csvOf, datasetTags, isPii, isPiiText, joined } from "./tags";

const ID = "dataset:n:day";
const tag = (text: string, field: string | null = null) => {
  const [key = "", value = "true"] = text.split(":");
  return { key, value, field };
};

test("dataset shows its own tags and those of columns", () => {
  const columns = ["a", "b", "c", "d"].map((field) => tag("gold", field));
  expect(datasetTags([tag("tier:x"), tag("tier:x", "a"), tag("pii", "mail"), tag("pii", "name"), ...columns], ID)).toEqual(["tier:x", "pii (mail, name)", "gold (4 columns)"]);
});

test("tags of several columns are joined", () => {
  expect(joined(["domain:taxi", "pii (mail)", "tier:gold (a)", "pii (name)"])).toEqual(["domain:taxi", "pii (mail, name)", "tier:gold (a)"]);
  expect(joined(datasetTags(["a", "b", "c", "d"].map((field) => tag("pii", field)), ID))).toEqual(["pii (4 columns)"]);
});

test("tags of a column are unique", () => {
  expect(columnTags([tag("pii", "mail"), tag("pii", "mail"), tag("tier:gold")], ID)).toEqual(["pii", "tier:gold"]);
});

test("tag of Airflow is its key", () => {
  expect([columnTags([tag("taxi:taxi")], ID), datasetTags([tag("taxi:taxi")], ID)]).toEqual([["taxi"], ["taxi"]]);
});

test.each([
  ["pii", true],
  ["PII:email", true],
  ["pii (mail)", true],
  ["pii, derived", true],
  ["pii:email, derived (mail)", true],
  ["pii:no (mail)", false],
  ["pii:false", false],
  ["tier:pii", false],
  ["", false],
])("%s means PII: %s", (text, is) => {
  expect(isPiiText(text)).toBe(is);
});

test("PII tag with value false is no PII", () => {
  expect([isPii(tag("pii:0")), isPii(tag("Pii:yes"))]).toEqual([false, true]);
});

test("tag of another dataset is derived unless the dataset has it too", () => {
  const from = (name: string, field: string | null = null) => ({ ...tag("pii", field), from: { namespace: "n", name } });
  expect(columnTags([from("raw"), from("other")], ID)).toEqual(["pii, derived"]);
  expect(columnTags([from("raw"), from("day")], ID)).toEqual(["pii"]);
  expect(datasetTags([from("raw", "mail"), from("raw", "name"), from("day", "key")], ID)).toEqual(["pii, derived (mail, name)", "pii (key)"]);
  expect(joined(["pii", "pii (mail)"])).toEqual(["pii"]);
});

test("CSV has one line per column and no formulas", () => {
  const path = [{ name: "raw", field: "mail" }, { name: "day", field: "who" }];
  const columns = [{ field: "who", status: "derived", path }, { field: null, status: "tagged", path: [{ name: "day", field: null }] }];
  const csv = csvOf([{ namespace: "=n", name: 'a"b', owners: ["x", "y"], columns }]);
  expect(csv.split("\r\n")).toEqual(['"namespace","dataset","column","status","owners","path"', `"'=n","a""b","who","derived","x, y","raw.mail > day.who"`, `"'=n","a""b","","tagged","x, y","day"`, ""]);
});
