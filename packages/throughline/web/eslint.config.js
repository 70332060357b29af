import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import { defineConfig } from "eslint/config";
import ts from "typescript-eslint";

export default defineConfig(
  { ignores: ["node_modules", ".built", "coverage", "src/api/schema.ts", "eslint.config.js"] },
  js.configs.recommended,
  ts.configs.strictTypeChecked,
  hooks.configs.flat["recommended-latest"],
  { files: ["**/*.tsx"], ...a11y.flatConfigs.recommended },
  {
    files: ["**/*.tsx"],
    // A region that scrolls needs the focus for the arrow keys: axe's scrollable-region-focusable asks for it.
    rules: { "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: [], roles: ["tabpanel", "region"] }] },
  },
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
