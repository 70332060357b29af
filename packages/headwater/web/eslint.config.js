import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import { defineConfig } from "eslint/config";
import ts from "typescript-eslint";

// Texts of the page are in src/strings. A literal with letters is refused where JSX shows it to a reader.
const TEXT = "/[A-Za-z]{2}/";
const SHOWN = "/^(aria-(label|description|roledescription|valuetext)|title|placeholder|alt|label|text|texts|kind|name|about)$/";
const ATTRIBUTE = `JSXOpeningElement[name.name!=/^(Icon|Command)$/] > JSXAttribute[name.name=${SHOWN}]`;
const LITERALS = `:matches(Literal[value=${TEXT}], TemplateLiteral:has(TemplateElement[value.raw=${TEXT}]))`;
const CHOICE = ":matches(LogicalExpression, ConditionalExpression)";
const message = "Move this text to src/strings.";
const noTextsInJsx = [
  `JSXText[value=/[A-Za-z]/]`,
  ...["", `${CHOICE} > `, `${CHOICE} > ${CHOICE} > `].flatMap((choice) => [
    `:matches(JSXElement, JSXFragment) > JSXExpressionContainer > ${choice}${LITERALS}`,
    `${ATTRIBUTE} > JSXExpressionContainer > ${choice}${LITERALS}`,
  ]),
  `${ATTRIBUTE} > ${LITERALS}`,
  `Property[key.name=/^(text|title|about|label)$/] > ${LITERALS}.value`,
  `Property[key.value="aria-label"] > ${LITERALS}.value`,
].map((selector) => ({ selector, message }));

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
    files: ["**/*.tsx"],
    ignores: ["**/*.test.tsx"],
    rules: { "no-restricted-syntax": ["error", ...noTextsInJsx] },
  },
  {
    files: ["src/graph/**"],
    rules: { "no-restricted-imports": ["error", { patterns: ["react*", "@xyflow/*", "../features/*", "../components/*"] }] },
  },
);
