/** A tag of a dataset or column, as in the API. */
export interface Tag {
  field: string | null;
  key: string;
  value: string;
}

const NO = ["false", "no", "0"];
const FEW = 3;

/** Return true if a tag means personal data, by the server's rule. */
export function isPii({ key, value }: { key: string; value: string }): boolean {
  return key.toLowerCase() === "pii" && !NO.includes(value.toLowerCase());
}

/** Format a tag as `pii` or `tier:gold`; the value of Airflow's tags is their key. */
function plain({ key, value }: Tag): string {
  return value === key || ["", "true"].includes(value.toLowerCase()) ? key : `${key}:${value}`;
}

/** Format the tags of a column without duplicates. */
export function columnTags(tags: readonly Tag[]): string[] {
  return [...new Set(tags.map(plain))];
}

/** Format a dataset's tags: its own first, then those of columns as `pii (mail)` or `pii (4 columns)`. */
export function datasetTags(tags: readonly Tag[]): string[] {
  const whole = new Set(tags.filter((tag) => tag.field === null).map(plain));
  const ofColumns = tags.flatMap((tag) => (tag.field !== null && !whole.has(plain(tag)) ? [`${plain(tag)} (${tag.field})`] : []));
  return [...whole, ...joined(ofColumns)];
}

/** Join formatted tags of several columns, such as `pii (mail)` and `pii (name)`, to `pii (mail, name)` or `pii (4 columns)`. */
export function joined(tags: readonly string[]): string[] {
  const columns = new Map<string, Set<string>>();
  for (const tag of tags) {
    const [, text = "", column = ""] = /^(.*) \((.*)\)$/.exec(tag) ?? [];
    if (text) columns.set(text, (columns.get(text) ?? new Set()).add(column));
  }
  const whole = tags.filter((tag) => !tag.endsWith(")"));
  return [...whole, ...[...columns].map(([text, of]) => `${text} (${of.size > FEW ? `${of.size} columns` : [...of].join(", ")})`)];
}

/** Return true if a formatted tag means personal data. */
export function isPiiText(text: string): boolean {
  const [, key = "", value = ""] = /^([^:( ]+)(?::([^(]*?))?(?: \(.*\))?$/.exec(text) ?? [];
  return isPii({ key, value });
}
