/** The start page. */
export const START = {
  description: "See where your data comes from, what depends on it, and whether you can trust it: down to columns, at any time.",
  incomplete: "Incomplete pipelines",
  tour: "Take the guided tour",
  tourAbout: "five steps over the example data",
} as const;
