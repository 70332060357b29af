/** What a page that is one file brings along: answers by `keyOf`, the address of elk's worker and the first view. */
export interface Embedded {
  answers: Record<string, unknown>;
  /** The items of lists in answers, which have their places. */
  pool: readonly unknown[];
  worker: string;
  start: string;
}

/** The content of a page that is one file (`throughline export --format html`); null on a server's page. */
export const EMBEDDED = (globalThis as { throughline?: Embedded }).throughline ?? null;

/** What every address begins with: nothing, or where the sample is, which has a server's every address below it. */
export const BASE = EMBEDDED ? "" : (/^\/sample(?=\/|$)/.exec(location.pathname)?.[0] ?? "");

/** Whether nothing can change: the page shows the sample, or is one file. */
export const IS_STATIC = BASE !== "" || EMBEDDED !== null;

/** The moment at which the sample is looked at; empty where it is the present. */
export const PRESENT = document.querySelector<HTMLMetaElement>("meta[name=present]")?.content ?? "";

/** Whether the server requires an API key. */
export const IS_KEYED = document.querySelector<HTMLMetaElement>("meta[name=key]")?.content === "needed";

/** How throughline is called where its server was started. */
export const PROGRAM = document.querySelector<HTMLMetaElement>("meta[name=program]")?.content ?? "throughline";

/** Where the guided tour starts. */
export const TOUR_ADDRESS = "/sample/?tour";

/** Whether the page was opened with `?embed`, in a frame of another page: it then has no header. */
export const IS_EMBEDDED = new URLSearchParams(location.search).has("embed");
