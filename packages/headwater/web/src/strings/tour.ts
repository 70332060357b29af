/** Texts of the guided tour of the sample. */
export const TOUR = {
  next: "Next",
  back: "Back",
  done: "Finish",
  skip: "Skip the tour",
  progress: "Step {{current}} of {{total}}",
  search: {
    title: "Search everything",
    text: "Find a table, job, column, tag, owner or a piece of SQL. Press / on any view to search.",
  },
  problems: {
    title: "See what needs attention",
    text: "Failed and late jobs, failed checks, and runs without an end event. Each one links to its cause.",
  },
  graph: {
    title: "Follow the data",
    text: "The graph shows the jobs and tables around one table. Click a node to highlight its path, and again to open its details.",
  },
  timeline: {
    title: "Go back in time",
    text: "Each bar is a time with runs, each marker a change of inputs, columns or code. Click one to see the graph as it was then.",
  },
  provenance: {
    title: "Prove where a version came from",
    text: "Provenance lists every upstream version, run and commit, down to the files. Leave the sample with the link at the top.",
  },
} as const;
