/** What every address begins with: nothing, or where the sample is, which has a server's every address below it. */
export const BASE = /^\/sample(?=\/|$)/.exec(location.pathname)?.[0] ?? "";

/** How throughline is called where its server was started. */
export const PROGRAM = document.querySelector<HTMLMetaElement>("meta[name=program]")?.content ?? "throughline";
