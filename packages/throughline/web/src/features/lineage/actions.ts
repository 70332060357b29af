import { createContext, useContext } from "react";
import type { Seek } from "../../graph/types";
import type { NodeId, Side } from "../../graph/types";

/** Actions of nodes. */
export interface Actions {
  /** Light a node's path, or open its details: at once, or if its path is lit. */
  select: (id: NodeId, isOpening?: boolean) => void;
  /** Draw a pipeline or a chain as one node, or its nodes again. */
  toggle: (id: NodeId) => void;
  step: (side: Side, id: NodeId, isMore: boolean) => void;
  toggleColumns: (id: NodeId) => void;
  /** Lock the path of a column; one without any, among what is shown, opens its details too. */
  lockColumn: (id: NodeId, field: string, isAlone: boolean) => void;
  /** Look for a text in the columns of a dataset, or at another page of them. */
  seek: (sought: Seek, isTyped?: boolean) => void;
  openColumn: (id: NodeId, field: string) => void;
}

export const ActionsContext = createContext<Actions | null>(null);

export function useActions(): Actions {
  const actions = useContext(ActionsContext);
  if (!actions) throw new Error("nodes are drawn inside of a Canvas");
  return actions;
}
