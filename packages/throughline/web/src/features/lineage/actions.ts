import { createContext, useContext } from "react";
import type { NodeId, Side } from "../../graph/types";

/** What nodes can ask of the page. */
export interface Actions {
  select: (id: NodeId) => void;
  step: (side: Side, id: NodeId, isMore: boolean) => void;
  toggleColumns: (id: NodeId) => void;
  lockColumn: (id: NodeId, field: string) => void;
  openColumn: (id: NodeId, field: string) => void;
}

export const ActionsContext = createContext<Actions | null>(null);

export function useActions(): Actions {
  const actions = useContext(ActionsContext);
  if (!actions) throw new Error("nodes are drawn inside of a Canvas");
  return actions;
}
