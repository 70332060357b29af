import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";

const SOURCE = resolve(import.meta.dirname, "..");
const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).map((name) => join(SOURCE, name));
const modules = files.filter((file) => file.endsWith(".module.css"));

/** Return the classes that a module defines, without those of libraries and of base.css. */
function definedIn(file: string): Set<string> {
  const css = readFileSync(file, "utf8").replaceAll(/\/\*.*?\*\/|:global\([^)]*\)|\{[^{}]*\}/gs, " ");
  return new Set([...css.matchAll(/\.([a-zA-Z][\w-]*)/g)].flatMap(([, name]) => name ?? []));
}

/** Return the classes of each module that the components use; "*": computed names. */
function used(): Map<string, Set<string>> {
  const result = new Map(modules.map((file) => [file, new Set<string>()]));
  for (const file of files.filter((name) => name.endsWith(".tsx"))) {
    const source = readFileSync(file, "utf8");
    const code = source.replaceAll(/^import .*$/gm, "");
    for (const [, variable = "", path = ""] of source.matchAll(/import (\w+) from "(.*\.module\.css)"/g)) {
      const classes = result.get(resolve(dirname(file), path));
      for (const [, name, computed] of code.matchAll(new RegExp(String.raw`\b${variable}(?:\.(\w+)|\[(.))`, "g"))) {
        if (name !== undefined) classes?.add(name);
        else if (computed !== '"') classes?.add("*");
        else for (const [, text = ""] of code.matchAll(new RegExp(String.raw`\b${variable}\["([\w-]+)"\]`, "g"))) classes?.add(text);
      }
    }
  }
  return result;
}

test("components use only classes that their CSS modules define", () => {
  const missing = [...used()].flatMap(([file, names]) => [...names].filter((name) => name !== "*" && !definedIn(file).has(name)).map((name) => `${file}: ${name}`));
  expect(missing).toEqual([]);
});

test("CSS modules define no class that no component uses", () => {
  const unused = [...used()].flatMap(([file, names]) => (names.has("*") ? [] : [...definedIn(file)].filter((name) => !names.has(name)).map((name) => `${file}: ${name}`)));
  expect(unused).toEqual([]);
});
