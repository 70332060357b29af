/** Texts of the frame around every view. */
export const FRAME = {
  skip: "Skip to content",
  reconnecting: "The server is unavailable. The page reconnects automatically.",
  help: "Help",
  tour: "Guided tour",
  tourAbout: "five steps",
  completeness: "Incomplete pipelines",
  completenessAbout: "missing lineage",
  /** Above every view of a page that is one file. */
  file: (moment: string) => `Exported on ${moment.slice(0, 16).replace("T", " at ")} UTC. This file does not change and asks no server.`,
  notInFile: "This file does not contain the answer. Open the lineage server's page for it",
} as const;
