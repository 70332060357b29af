import { createContext, useContext } from "react";
import type { Seek } from "../../graph/types";
import type { NodeId, Side } from "../../graph/types";

/** Actions of nodes. */
export interface Actions {
  /** Highlight a node's path; open its details if the path is highlighted or `isOpening`. */
  select: (id: NodeId, isOpening?: boolean) => void;
  /** Collapse a pipeline or a chain into one node, or expand it. */
  toggle: (id: NodeId) => void;
  /** Show the `more` nodes of the next step on a side of a node, or a list of them if they are many; 0 collapses the side. */
  step: (side: Side, id: NodeId, more: number) => void;
  toggleColumns: (id: NodeId) => void;
  /** Lock the path of a column; open its details if no related column is shown (`isAlone`). */
  lockColumn: (id: NodeId, field: string, isAlone: boolean) => void;
  /** Columns whose paths are locked. */
  locked: readonly string[];
  /** Lock the path of one more column, or unlock it. */
  toggleLocked: (id: NodeId, field: string) => void;
  /** Search the columns of a dataset, or show another page of them. */
  seek: (search: Seek, isTyped?: boolean) => void;
  openColumn: (id: NodeId, field: string) => void;
}

export const ActionsContext = createContext<Actions | null>(null);

export function useActions(): Actions {
  const actions = useContext(ActionsContext);
  if (!actions) throw new Error("useActions must be used inside a Canvas");
  return actions;
}
