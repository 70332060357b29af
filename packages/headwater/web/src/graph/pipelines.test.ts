import { expect, test } from "vitest";
import { mapOf } from "./pipelines";

const pipeline = (id: string, ...upstream: string[]) => ({ id, upstream });

test("pipelines are to the right of those upstream of them", () => {
  const { boxes, lines, others, width, height } = mapOf([pipeline("train", "yellow", "weather"), pipeline("weather"), pipeline("yellow"), pipeline("report", "train", "unlisted"), pipeline("archive")]);
  const at = new Map(boxes.map((each) => [each.pipeline.id, each.box]));
  const x = (id: string) => at.get(id)?.x ?? NaN;
  expect([x("weather"), x("yellow")]).toEqual([0, 0]);
  expect(at.get("weather")?.y).not.toBe(at.get("yellow")?.y);
  expect(x("train")).toBeGreaterThan(x("yellow"));
  expect(x("report")).toBeGreaterThan(x("train"));
  expect(lines).toHaveLength(3);
  expect(others.map(({ id }) => id)).toEqual(["archive"]);
  expect([width, height]).toEqual([x("report") + 240, 130]);
});

test("pipelines that feed each other, or nothing, have places", () => {
  const { boxes, lines } = mapOf([pipeline("a", "b"), pipeline("b", "a")]);
  expect(boxes.map(({ box }) => box.x).sort((a, b) => a - b)).toEqual([0, 284]);
  expect([boxes.length, lines.length]).toEqual([2, 2]);
  expect(mapOf([pipeline("a")])).toMatchObject({ boxes: [], width: 0, height: 0 });
});
