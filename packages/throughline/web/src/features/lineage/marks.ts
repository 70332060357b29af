import type { Mark } from "../../graph/difference";

/** Labels of changed nodes and columns. */
export const MARKS: Record<Mark, string> = { added: "Added", removed: "Removed", changed: "Changed" };
