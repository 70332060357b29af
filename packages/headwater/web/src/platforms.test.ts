import { expect, test } from "vitest";
import { kindText, PLATFORMS, platformOf } from "./platforms";

const of = (kind: string, namespace = "n", platform: string | null = null) => ({ kind, namespace, platform });

test.each([
  ["Airflow task", of("task", "nyc_taxi", "AIRFLOW")],
  ["Metaflow task", of("task", "nyc_taxi", "METAFLOW")],
  ["Spark query", of("query", "nyc_taxi", "SPARK")],
  ["dbt task", of("task", "n", "DBT")],
  ["Iceberg table", of("table", "hive://lake", "iceberg")],
  ["Glue table", of("table", "arn:aws:glue:eu-west-1:1")],
  ["Redshift table", of("table", "redshift://c.eu-west-1:5439")],
  ["Kafka stream", of("stream", "kafka://b:9092")],
  ["Postgres table", of("table", "postgres://h:5432")],
  ["Postgres view", of("view", "postgres://h:5432")],
  ["View", of("view", "bigquery")],
  ["S3 file", of("file", "s3://bucket")],
  ["File", of("file", "file")],
  ["Model", of("model", "metaflow://local")],
  ["Artifact", of("artifact", "s3://bucket")],
  ["Task", of("task")],
  ["Table", of("table", "bigquery")],
  ["Table", of("")],
])("%s is recognized by platform, namespace or kind", (text, node) => {
  expect(kindText(node)).toBe(text);
});

test("platforms have unique names, icons and colors for light and dark", () => {
  expect(new Set(PLATFORMS.map(({ name }) => name)).size).toBe(PLATFORMS.length);
  for (const platform of PLATFORMS) {
    for (const [tag] of platform.icon) expect(tag).toMatch(/^(path|rect|circle|ellipse|line|poly)/);
    expect(platform.color).toMatch(/^light-dark\(#[0-9a-f]{6}, #[0-9a-f]{6}\)$/);
  }
});

/** Return the contrast of two colors by WCAG 2. */
function contrast(a: string, b: string): number {
  const light = (color: string) => {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [high, low] = [light(a), light(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

test("icons contrast with light and dark cards", () => {
  for (const { color } of [...PLATFORMS, platformOf(of("table"))]) {
    const [light, dark] = color.match(/#[0-9a-f]{6}/g) as unknown as [string, string];
    expect(Math.min(contrast(light, "#f2f3f6"), contrast(dark, "#24262c"))).toBeGreaterThan(3);
  }
});
