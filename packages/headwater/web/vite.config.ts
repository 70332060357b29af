import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import subsetFont from "subset-font";
import { compression } from "vite-plugin-compression2";
import { defineConfig } from "vitest/config";

const server = process.env["HEADWATER_URL"] ?? "http://localhost:9002";

// `vite build --mode file` builds one script and one style sheet with its typeface, which `headwater export --format html` embeds.
const oneFile = { assetsInlineLimit: (path: string) => path.endsWith(".woff2"), modulePreload: false as const, cssCodeSplit: false, rollupOptions: { output: { format: "iife" as const, inlineDynamicImports: true } } };

// The letters of the page's texts and of most names are a font of their own, 8 kB smaller; the others are loaded when they occur.
const BASIC = Array.from({ length: 95 }, (_, place) => String.fromCharCode(32 + place)).join("") + "\u00a0·×–—‘’“”…↑↓−";
const packages = join(import.meta.dirname, "node_modules");
const font = readFileSync(join(packages, "@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2"));
mkdirSync(join(packages, ".figtree"), { recursive: true });
writeFileSync(join(packages, ".figtree/basic.woff2"), await subsetFont(font, BASIC, { targetFormat: "woff2", variationAxes: { wght: { min: 400, max: 700 } } }));

export default defineConfig(({ mode }) => ({
  // The server sends these copies of the assets; it changes index.html, which therefore has none.
  plugins: [react(), mode !== "file" && compression({ algorithms: ["gzip", "brotliCompress"], include: /\.(js|css|svg)$/ })],
  build: mode === "file" ? oneFile : {
    // elk is one file of 1.6 MB that only the worker loads, when there is a graph to lay out.
    chunkSizeWarningLimit: 1000,
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/api": server, "/healthz": server } },
  test: {
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test/setup.ts"],
    // Vitest's 5 s are too short for a first import on a busy machine.
    testTimeout: 60_000,
    // One environment for all files takes a third of the CPU time; setup.ts cleans up after each test.
    isolate: false,
    coverage: {
      include: ["src/graph/**/*.ts"],
      exclude: ["src/graph/types.ts"],
      thresholds: { lines: 100, functions: 100, branches: 100, statements: 100 },
    },
  },
}));
