import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { sizeOf } from "./layout";
import { SIZES, SIZE_VARIABLES } from "./sizes";

const FOLDER = resolve(__dirname, "../features/lineage");
const styles = readdirSync(FOLDER).filter((name) => name.endsWith(".css")).map((name) => readFileSync(resolve(FOLDER, name), "utf8")).join("\n");

test("styles use exactly the defined size variables", () => {
  const used = new Set([...styles.matchAll(/var\((--node-\w+)\)/g)].map((match) => match[1]));
  expect([...used].sort()).toEqual(["--node-body", "--node-column", "--node-more", "--node-search"]);
  expect(Object.keys(SIZE_VARIABLES)).toEqual(expect.arrayContaining([...used]));
  expect(SIZE_VARIABLES["--node-body"]).toBe(`${SIZES.body}px`);
});

test("node height is the sum of its parts", () => {
  expect(sizeOf(null)).toEqual({ width: SIZES.width, height: SIZES.body });
  expect(sizeOf(3).height).toBe(SIZES.body + SIZES.search + 3 * SIZES.column);
  expect(sizeOf(99).height).toBe(SIZES.body + SIZES.search + 10 * SIZES.column + SIZES.more);
});
