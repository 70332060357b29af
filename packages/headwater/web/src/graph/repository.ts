/** The source code location of runs (OpenLineage's sourceCodeLocation). */
export interface CodePlace {
  repoUrl?: string | null;
  path?: string | null;
  version?: string | null;
}

/** The URL path between repository and commit on common hosts. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/(^|\.)github\./, "blob"],
  [/(^|\.)gitlab\./, "-/blob"],
  [/^bitbucket\.org$/, "src"],
];

/** Return the web page of a file at its commit, or null if the host is unknown or the commit is missing. */
export function codeUrl({ repoUrl, path, version }: CodePlace): string | null {
  const [, host, folder] = /^(?:(?:ssh|git|https):\/\/(?:[^@/]*@)?|[^@/]+@)([^:/]+)(?::\d+)?[:/](.+?)(?:\.git)?\/?$/.exec(repoUrl ?? "") ?? [];
  const form = FORMS.find(([pattern]) => pattern.test(host ?? ""))?.[1];
  if (!host || !folder || !form || !version) return null;
  const file = (path ?? "").replace(/^\/+/, "").split("/").map(encodeURIComponent).join("/");
  return `https://${host}/${folder}/${form}/${encodeURIComponent(version)}/${file}`;
}

/** Format as `path at 1a2b3c4`; empty if not reported. */
export function codeText({ repoUrl, path, version }: CodePlace): string {
  const commit = version && /^[0-9a-f]{8,}$/.test(version) ? version.slice(0, 7) : version;
  return [path || repoUrl, commit && `at ${commit}`].filter(Boolean).join(" ");
}
