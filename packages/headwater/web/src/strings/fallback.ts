/** Texts of views without a subject and of unknown addresses. */
export const FALLBACK = {
  views: {
    "/lineage": ["Graph", "Upstream and downstream lineage", "The graph shows the jobs and data around a table, a model or a job, now or at any time."],
    "/provenance": ["Provenance", "Upstream versions", "Provenance lists every upstream version, run and commit of a table or model, down to the files."],
    "/impact": ["Impact", "Downstream impact", "Impact lists everything downstream of a table, a column or a job, by owner."],
    "/version": ["Version", "One version of a dataset", "A version shows who wrote and who read one snapshot of a table, model or file. Select a dataset, then one of its versions."],
    "/incident": ["Incident", "Incidents", "An incident shows the cause of a failed check or bad version, who used the data, and what to run again. Select a dataset whose checks fail."],
    "/search": ["Search", "Search the lineage", "Search lists every match in names, columns, tags, owners, descriptions and SQL."],
  },
  hint: ["Search above (", ")"],
  hintEnd: (hasDatasets: boolean) => (hasDatasets ? ", or select a recently written dataset:" : "."),
  recent: "Recently written",
  notFound: "Not found",
  noPage: ["No page at ", ". Search above for a table or a job, or go to the "],
  start: "start page",
  noRun: "No events for this run yet",
  unknownRun: ["Run ", " of ", " is unknown. It appears here when its first event arrives."],
  job: "Show the job",
} as const;
