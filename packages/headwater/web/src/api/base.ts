/** Content of a page that is one file: the answers by `keyOf`, the address of elk's worker and the first view. */
export interface OneFile {
  answers: Record<string, unknown>;
  /** Items of lists; an answer refers to them by index. */
  pool: readonly unknown[];
  worker: string;
  start: string;
}

/** The content of a page that is one file (`headwater export --format html`); null on a server's page. */
export const ONE_FILE = (globalThis as { headwater?: OneFile }).headwater ?? null;

/** Prefix of all addresses: `/sample` on the sample server, otherwise empty. */
export const BASE = ONE_FILE ? "" : (/^\/sample(?=\/|$)/.exec(location.pathname)?.[0] ?? "");

/** True if nothing can change: the page shows the sample, or is one file. */
export const IS_STATIC = BASE !== "" || ONE_FILE !== null;

/** Current time of the sample; empty for the real time. */
export const PRESENT = document.querySelector<HTMLMetaElement>("meta[name=present]")?.content ?? "";

/** True if the server requires an API key. */
export const IS_KEYED = document.querySelector<HTMLMetaElement>("meta[name=key]")?.content === "needed";

/** Name of the headwater program in commands, as configured on the server. */
export const PROGRAM = document.querySelector<HTMLMetaElement>("meta[name=program]")?.content ?? "headwater";

/** Address at which the guided tour starts. */
export const TOUR_ADDRESS = "/sample/?tour";

/** True if the page was opened with `?embed`, in a frame of another page; it then has no header. */
export const IS_EMBEDDED = new URLSearchParams(location.search).has("embed");
