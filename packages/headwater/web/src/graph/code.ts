/** A piece of code for syntax highlighting. */
export type Piece = { kind: "keyword" | "text" | "number" | "comment" | "plain"; text: string; isMarked?: boolean };
export type Language = "sql" | "python";
/** Start and end positions in a text. */
export type Range = readonly [number, number];

const WORDS: Record<string, Set<string>> = {
  sql: new Set(
    ("select from where join left right inner outer full cross on using group by order having limit as and or not " +
      "in is null case when then else end insert into values update set delete merge matched create table replace " +
      "view with union all distinct over partition between like exists interval cast").split(" "),
  ),
  python: new Set(
    ("def return class import from as if elif else for while in is not and or none true false with try except finally " +
      "raise yield lambda pass break continue assert self async await").split(" "),
  ),
};
const PATTERN = {
  sql: /(--[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^']|'')*'|"[^"]*"|`[^`]*`)|(\b\d+(?:\.\d+)?\b)|(\b[a-z_]\w*\b)/gi,
  python: /(#[^\n]*)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(\b\d+(?:\.\d+)?\b)|(\b[a-z_]\w*\b)/gi,
};

/** Split code into pieces for syntax highlighting. */
export function piecesOf(code: string, language: Language): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  const put = (kind: Piece["kind"], text: string) => {
    if (text) found.push({ kind, text });
  };
  for (const match of code.matchAll(PATTERN[language])) {
    const [text, comment, quote, number] = match;
    const isKeyword = WORDS[language]?.has(text.toLowerCase());
    const kind = comment ? "comment" : quote ? "text" : number ? "number" : isKeyword ? "keyword" : "plain";
    put("plain", code.slice(at, match.index));
    put(kind, text);
    at = match.index + text.length;
  }
  put("plain", code.slice(at));
  return found;
}

/** Split pieces where a mark begins or ends. */
export function marked(pieces: readonly Piece[], marks: readonly Range[]): Piece[] {
  const cuts = marks.flat().sort((a, b) => a - b);
  const found: Piece[] = [];
  let at = 0;
  for (const { kind, text } of pieces) {
    const end = at + text.length;
    for (const cut of [...cuts.filter((position) => position > at && position < end), end]) {
      const isMarked = marks.some(([from, to]) => at >= from && cut <= to);
      found.push({ kind, text: text.slice(text.length - (end - at), text.length - (end - cut)), isMarked });
      at = cut;
    }
  }
  return found;
}
