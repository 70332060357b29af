import { piecesOf, type Language, type Range } from "./code";

const ENDS = new Set(["from", "where", "group", "order", "having", "union", "limit"]);

/** Find the expressions that produce a column in SQL or Python, without a full parse. */
export function placesOf(code: string, language: Language, column: string): Range[] {
  return language === "sql" ? inSql(code, column) : inCode(code, column);
}

interface Token {
  text: string;
  from: number;
  to: number;
  isName: boolean;
}

function tokensOf(code: string, language: Language): Token[] {
  const found: Token[] = [];
  let at = 0;
  for (const { kind, text } of piecesOf(code, language)) {
    if (kind === "plain") {
      for (const match of text.matchAll(/\w+|[^\s\w]/g)) {
        const from = at + match.index;
        found.push({ text: match[0], from, to: from + match[0].length, isName: /\w/.test(match[0]) });
      }
    } else if (kind !== "comment") {
      const isQuoted = kind === "text" && !(language === "sql" && text.startsWith("'"));
      found.push({ text: isQuoted ? text.slice(1, -1) : text, from: at, to: at + text.length, isName: isQuoted });
    }
    at += text.length;
  }
  return found;
}

/** Find the items of SELECT lists with the column's name: the expression before `AS name`, or `name` itself. */
function inSql(code: string, column: string): Range[] {
  const tokens = tokensOf(code, "sql");
  const wanted = column.toLowerCase();
  return tokens.flatMap((token, place): Range[] => {
    const next = tokens[place + 1]?.text.toLowerCase();
    const isLast = next === undefined || next === "," || next === ")" || ENDS.has(next);
    if (!token.isName || token.text.toLowerCase() !== wanted || !isLast) return [];
    const first = startOf(token, tokens.slice(0, place));
    return first === null ? [] : [[first.from, token.to]];
  });
}

/** Return the first token of the SELECT item that ends with `last`, or null outside a SELECT list. */
function startOf(last: Token, before: readonly Token[]): Token | null {
  let depth = 0;
  let first = last;
  let isWhole = false;
  for (const token of before.toReversed()) {
    const word = token.text.toLowerCase();
    if (word === ")") depth++;
    else if (word === "(" && depth-- === 0) return null;
    else if (depth === 0 && (word === "select" || word === "distinct")) return first;
    else if (depth === 0 && ENDS.has(word)) return null;
    else if (depth === 0 && word === ",") isWhole = true;
    if (!isWhole) first = token;
  }
  return null;
}

/** Find the code lines that contain the column's name as a string or an identifier. */
function inCode(code: string, column: string): Range[] {
  const lines = new Map<number, Range>();
  for (const token of tokensOf(code, "python")) {
    if (!token.isName || token.text !== column) continue;
    const from = code.lastIndexOf("\n", token.from) + 1;
    const end = code.indexOf("\n", token.to);
    const text = code.slice(from, end < 0 ? undefined : end);
    lines.set(from, [from + text.length - text.trimStart().length, from + text.trimEnd().length]);
  }
  return [...lines.values()];
}
