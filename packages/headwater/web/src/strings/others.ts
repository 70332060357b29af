/** Texts of the collapsed neighbors of a node. */
export const OTHERS = {
  title: (count: number, side: string, name: string) => `${count.toLocaleString("en")} more ${side} of ${name}`,
  search: "Search by name, owner or tag",
  by: "Group by",
  groupings: { owner: "Owner", schema: "Schema", pipeline: "Pipeline" },
  none: { owner: "No owner", schema: "No schema", pipeline: "No pipeline" },
  show: (name: string) => `Show ${name}`,
  showAll: (count: number) => `Show all ${count.toLocaleString("en")}`,
  showGroup: (count: number, group: string) => `Show all ${count.toLocaleString("en")} of ${group}`,
  noMatches: "No matches.",
  close: "Close",
} as const;
