/** Prefix of all addresses: `/sample` on the sample server, otherwise empty. */
export const BASE = /^\/sample(?=\/|$)/.exec(location.pathname)?.[0] ?? "";

/** Current time of the sample; empty for the real time. */
export const PRESENT = document.querySelector<HTMLMetaElement>("meta[name=present]")?.content ?? "";

/** True if the server requires an API key. */
export const IS_KEYED = document.querySelector<HTMLMetaElement>("meta[name=key]")?.content === "needed";

/** Name of the throughline program in commands, as configured on the server. */
export const PROGRAM = document.querySelector<HTMLMetaElement>("meta[name=program]")?.content ?? "throughline";

/** Address at which the guided tour starts. */
export const TOUR_ADDRESS = "/sample/?tour";

/** True if the page was opened with `?embed`, in a frame of another page; it then has no header. */
export const IS_EMBEDDED = new URLSearchParams(location.search).has("embed");
