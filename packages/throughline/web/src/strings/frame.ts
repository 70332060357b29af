/** Texts around every view. */
export const FRAME = {
  skip: "Skip to content",
  reconnecting: "The server is unavailable. The page reconnects automatically.",
} as const;
