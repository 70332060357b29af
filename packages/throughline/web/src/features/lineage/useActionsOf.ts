import { useMemo } from "react";
import { columnKey, openColumn } from "../../graph/lit";
import type { NodeId } from "../../graph/types";
import { fold, grow, type View } from "../../graph/view";
import type { Actions } from "./actions";

/** What nodes can ask for, as changes of the view. */
export function useActionsOf(view: View, change: (change: Partial<View>) => void, keep: (id: NodeId) => void): Actions {
  return useMemo(
    () => ({
      select: (id) => {
        keep(id);
        // The first click lights the path, the next one opens it. The path of what was asked for is all there is.
        change(view.lit === id || view.node === id ? { open: id, tab: null } : { lit: id, column: null, ...(view.open ? { open: id, tab: null } : {}) });
      },
      step: (side, id, isMore) => {
        keep(id);
        change(isMore ? grow(view, side, id) : fold(view, side, id));
      },
      toggleColumns: (id) => {
        keep(id);
        const isOpen = view.columns.includes(id);
        change({ columns: isOpen ? view.columns.filter((each) => each !== id) : [...view.columns, id] });
      },
      lockColumn: (id, field) => {
        const key = columnKey(id, field);
        // As with nodes: the first click locks its path, the next opens it.
        const isOpening = view.column === key || view.open !== null;
        change({ column: key, lit: null, ...(isOpening ? { open: openColumn(id, field), tab: null } : {}) });
      },
      openColumn: (id, field) => change({ open: openColumn(id, field), tab: null }),
    }),
    [view, change, keep],
  );
}
