import { expect, test } from "vitest";
import { isDirect, transformationTexts } from "./transformation";

const transformation = (type: string, subtype: string | null, isMasking = false) => ({ type, subtype, description: null, isMasking });

test("transformations are unique, direct ones first", () => {
  const transformations = [transformation("INDIRECT", "GROUP_BY"), transformation("DIRECT", "AGGREGATION", true), transformation("INDIRECT", "GROUP_BY"), transformation("INDIRECT", null), transformation("INDIRECT", "SAMPLE"), transformation("DIRECT", "DIRECT"), transformation("DIRECT", null)];
  expect(transformationTexts(transformations)).toEqual(["aggregation, masked", "direct", "groups by", "determines the rows", "sample"]);
});

test("missing transformation is direct", () => {
  expect([isDirect([]), isDirect([transformation("INDIRECT", "JOIN")]), isDirect([transformation("INDIRECT", "JOIN"), transformation("DIRECT", null)])]).toEqual([true, false, true]);
});
