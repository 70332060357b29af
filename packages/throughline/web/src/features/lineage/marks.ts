import type { Mark } from "../../graph/difference";

/** What is said of a node or a column that is other than it was. */
export const MARKS: Record<Mark, string> = { added: "Added", removed: "Removed", changed: "Changed" };
