import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import { defineConfig } from "eslint/config";
import ts from "typescript-eslint";

export default defineConfig(
  { ignores: ["node_modules", ".built", "coverage", "src/api/schema.ts", "eslint.config.js"] },
  js.configs.recommended,
  ts.configs.strictTypeChecked,
  hooks.configs.flat["recommended-latest"],
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines": ["error", 250],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ["src/graph/**"],
    rules: { "no-restricted-imports": ["error", { patterns: ["react*", "@xyflow/*", "../features/*", "../components/*"] }] },
  },
);
