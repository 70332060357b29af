import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, test } from "vitest";

const SOURCE = resolve(__dirname, "..");
const files = (readdirSync(SOURCE, { recursive: true }) as string[]).filter((name) => /\.tsx?$/.test(name)).map((name) => join(SOURCE, name));

/** The files that a file imports, types included; what is loaded lazily does not count. */
function importsOf(file: string): string[] {
  const specifiers = [...readFileSync(file, "utf8").matchAll(/^(?:import|export)\s[^;]*?from "(\.[^"]+)"/gm)].map((match) => match[1] ?? "");
  return specifiers.flatMap((specifier) => {
    const base = resolve(dirname(file), specifier);
    return [".ts", ".tsx"].map((ending) => base + ending).filter((path) => files.includes(path));
  });
}

test("no module imports itself through others", () => {
  const graph = new Map(files.map((file) => [file, importsOf(file)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    else if (!done.has(file)) {
      for (const imported of graph.get(file) ?? []) visit(imported, [...path, file]);
      done.add(file);
    }
  };
  for (const file of files) visit(file, []);
  expect(cycles).toEqual([]);
});

/** The folders of src, lowest first: a module imports only its own folder and those before it. */
const LAYERS = ["api", "graph", "strings", "navigation", "components", "features", "app"];

test("folders import only lower folders", () => {
  const layerOf = (file: string): number => LAYERS.indexOf(relative(SOURCE, file).split(sep)[0] ?? "");
  const upward = files
    .filter((file) => layerOf(file) >= 0 && !file.includes(".test."))
    .flatMap((file) => importsOf(file).filter((imported) => layerOf(imported) > layerOf(file)).map((imported) => `${relative(SOURCE, file)} -> ${relative(SOURCE, imported)}`));
  expect(upward).toEqual([]);
});

test("every folder has a layer", () => {
  const folders = new Set(files.map((file) => relative(SOURCE, file).split(sep)).filter((parts) => parts.length > 1).map(([folder]) => folder));
  expect([...folders].filter((folder) => folder !== "test").sort()).toEqual([...LAYERS].sort());
});
