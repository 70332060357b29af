import react from "@vitejs/plugin-react";
import { compression } from "vite-plugin-compression2";
import { defineConfig } from "vitest/config";

const server = process.env["HEADWATER_URL"] ?? "http://localhost:9002";

// `vite build --mode file` builds one script and one style sheet with its typeface, which `headwater export --format html` embeds.
const oneFile = { assetsInlineLimit: (path: string) => path.endsWith(".woff2"), modulePreload: false as const, cssCodeSplit: false, rollupOptions: { output: { format: "iife" as const, inlineDynamicImports: true } } };

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
