import { plural } from "../graph/words";

/** Texts of the frame around every view. */
export const FRAME = {
  skip: "Skip to content",
  reconnecting: "The server is unavailable. The page reconnects automatically.",
  brand: "headwater, start page",
  name: "headwater",
  none: "No problems",
  unknown: "Problems unknown",
  problems: (count: number) => plural(count, "problem"),
  warnings: (count: number) => plural(count, "warning"),
  live: "Live",
  liveAbout: "New events appear immediately",
  offline: "Reconnecting",
  offlineAbout: "The server is unavailable; the page reconnects automatically",
  themes: {
    auto: "Theme: system. Switch to light",
    light: "Theme: light. Switch to dark",
    dark: "Theme: dark. Switch to system",
  },
  sample: "Sample",
  sampleMark: "Sample:",
  sampleAbout: (day: string) => ` two weeks of a made-up pipeline, as of ${day}. Not your data.`,
  leaveSample: "Leave the sample",
  help: "Help",
  tour: "Guided tour",
  tourAbout: "five steps",
  completeness: "Incomplete pipelines",
  completenessAbout: "missing lineage",
  /** Above every view of a page that is one file. */
  file: (moment: string) => `Exported on ${moment.slice(0, 16).replace("T", " at ")} UTC. This file does not change and needs no server.`,
} as const;
