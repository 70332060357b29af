import { expect, test } from "vitest";
import { columnTags, datasetTags, isPii, isPiiText, joined } from "./tags";

const tag = (text: string, field: string | null = null) => {
  const [key = "", value = "true"] = text.split(":");
  return { key, value, field };
};

test("dataset shows its own tags and those of columns", () => {
  const columns = ["a", "b", "c", "d"].map((field) => tag("gold", field));
  expect(datasetTags([tag("tier:x"), tag("tier:x", "a"), tag("pii", "mail"), tag("pii", "name"), ...columns])).toEqual(["tier:x", "pii (mail, name)", "gold (4 columns)"]);
});

test("tags of several columns are joined", () => {
  expect(joined(["domain:taxi", "pii (mail)", "tier:gold (a)", "pii (name)"])).toEqual(["domain:taxi", "pii (mail, name)", "tier:gold (a)"]);
  expect(joined(datasetTags(["a", "b", "c", "d"].map((field) => tag("pii", field))))).toEqual(["pii (4 columns)"]);
});

test("tags of a column are unique", () => {
  expect(columnTags([tag("pii", "mail"), tag("pii", "mail"), tag("tier:gold")])).toEqual(["pii", "tier:gold"]);
});

test("tag of Airflow is its key", () => {
  expect([columnTags([tag("taxi:taxi")]), datasetTags([tag("taxi:taxi")])]).toEqual([["taxi"], ["taxi"]]);
});

test.each([
  ["pii", true],
  ["PII:email", true],
  ["pii (mail)", true],
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
