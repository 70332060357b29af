/** Texts of the frame around every view. */
export const FRAME = {
  skip: "Skip to content",
  reconnecting: "The server is unavailable. The page reconnects automatically.",
  help: "Help",
  tour: "Guided tour",
  tourAbout: "five steps",
  completeness: "Incomplete pipelines",
  completenessAbout: "missing lineage",
} as const;
