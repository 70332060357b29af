import { createContext, useContext } from "react";
import type { Seek } from "../../graph/columns";
import type { NodeId, Side } from "../../graph/types";

/** What nodes can ask of the page. */
export interface Actions {
  select: (id: NodeId) => void;
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
