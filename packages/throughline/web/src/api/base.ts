/** What every address begins with: nothing, or where the sample is, which has a server's every address below it. */
export const BASE = /^\/sample(?=\/|$)/.exec(location.pathname)?.[0] ?? "";

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
