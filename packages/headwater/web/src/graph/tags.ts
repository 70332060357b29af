/** A tag of a dataset or column, as in the API. */
export interface Tag {
  field: string | null;
  key: string;
  value: string;
  /** The column or dataset with the reported tag. */
  from?: { namespace: string; name: string };
}

/** A dataset with columns that have a tag. */
interface Tagged {
  namespace: string;
  name: string;
  owners: string[];
  columns: { field: string | null; status: string; path: { name: string; field: string | null }[] }[];
}

const NO = ["false", "no", "0"];
const FEW = 3;

/** Return true if a tag means personal data, by the server's rule. */
export function isPii({ key, value }: { key: string; value: string }): boolean {
  return key.toLowerCase() === "pii" && !NO.includes(value.toLowerCase());
}

/** Format a tag of a dataset as `pii`, `tier:gold` or, if another dataset has it, `pii, derived`; the value of Airflow's tags is their key. */
function plain({ key, value, from }: Tag, id: string): string {
  const label = value === key || ["", "true"].includes(value.toLowerCase()) ? key : `${key}:${value}`;
  return from && `dataset:${from.namespace}:${from.name}` !== id ? `${label}, derived` : label;
}

/** Format the tags of a column without duplicates. */
export function columnTags(tags: readonly Tag[], id: string): string[] {
  const texts = new Set(tags.map((tag) => plain(tag, id)));
  return [...texts].filter((text) => !texts.has(text.replace(/, derived$/, "")) || !text.endsWith(", derived"));
}

/** Format a dataset's tags: its own first, then those of columns as `pii (mail)` or `pii (4 columns)`. */
export function datasetTags(tags: readonly Tag[], id: string): string[] {
  const whole = new Set(columnTags(tags.filter((tag) => tag.field === null), id));
  const ofColumns = tags.flatMap((tag) => (tag.field !== null && !whole.has(plain(tag, id)) ? [`${plain(tag, id)} (${tag.field})`] : []));
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
  return [...whole, ...[...columns].filter(([text]) => !whole.includes(text)).map(([text, of]) => `${text} (${of.size > FEW ? `${of.size} columns` : [...of].join(", ")})`)];
}

/** Return true if a formatted tag means personal data. */
export function isPiiText(text: string): boolean {
  const [, key = "", value = ""] = /^([^:( ]+)(?::([^(]*?))?(?: \(.*\))?$/.exec(text.replace(", derived", "")) ?? [];
  return isPii({ key, value });
}

/** Format columns with a tag as CSV, one per line. */
export function csvOf(tables: readonly Tagged[]): string {
  const rows = tables.flatMap(({ namespace, name, owners, columns }) =>
    columns.map(({ field, status, path }) => {
      const steps = path.map((step) => [step.name, step.field].filter(Boolean).join("."));
      return [namespace, name, field ?? "", status, owners.join(", "), steps.join(" > ")];
    }),
  );
  return csvText([["namespace", "dataset", "column", "status", "owners", "path"], ...rows]);
}

/** Format rows as CSV. No cell starts like a formula. */
export function csvText(rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
