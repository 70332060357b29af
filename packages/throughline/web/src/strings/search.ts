/** Texts of the search field. */
export const SEARCH = {
  placeholder: "Search tables, jobs, columns, tags, owners, SQL",
  /** Used in windows narrower than `narrow` pixels. */
  placeholderNarrow: "Search tables, columns, tags",
  placeholderSmall: "Search",
  narrow: 640,
} as const;
