import { expect, test } from "vitest";
import { isDirect, waysOf } from "./transformation";

const way = (type: string, subtype: string | null, isMasking = false) => ({ type, subtype, description: null, isMasking });

test("transformations are unique, direct ones first", () => {
  const ways = [way("INDIRECT", "GROUP_BY"), way("DIRECT", "AGGREGATION", true), way("INDIRECT", "GROUP_BY"), way("INDIRECT", null), way("DIRECT", "DIRECT"), way("DIRECT", null)];
  expect(waysOf(ways)).toEqual(["aggregation, masked", "direct", "decides by group by", "decides which rows there are"]);
});

test("missing transformation is direct", () => {
  expect([isDirect([]), isDirect([way("INDIRECT", "JOIN")]), isDirect([way("INDIRECT", "JOIN"), way("DIRECT", null)])]).toEqual([true, false, true]);
});
