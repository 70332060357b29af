import { useMemo } from "react";
import type { Change } from "../../app/address";
import { columnKey, openColumn } from "../../graph/lit";
import { ALL_ROWS } from "../../graph/types";
import { fold, grow, seek, toggled, type View } from "../../graph/view";
import type { Actions } from "./actions";
import type { Anchor } from "./Canvas";

/** What nodes can ask for, as changes of the view. */
export function useActionsOf(view: View, change: Change, keep: (anchor: Anchor) => void): Actions {
  return useMemo(
    () => ({
      select: (id, isOpening = false) => {
        keep({ id, isOpening: false });
        // The first click highlights the path, the second opens the details. The root's path is the whole graph.
        change(isOpening || view.lit === id || view.node === id ? { open: id, tab: null } : { lit: id, column: null, ...(view.open ? { open: id, tab: null } : {}) });
      },
      step: (side, id, isMore) => {
        keep({ id, isOpening: isMore });
        change(isMore ? grow(view, side, id) : fold(view, side, id));
      },
      toggle: (id) => {
        keep({ id, isOpening: false });
        change(toggled(view, id));
      },
      toggleColumns: (id) => {
        keep({ id, isOpening: false });
        const isOpen = view.columns.includes(id);
        change(isOpen ? { columns: view.columns.filter((column) => column !== id), seeks: view.seeks.filter((search) => search.id !== id) } : { columns: [...view.columns, id] });
      },
      lockColumn: (id, field, isAlone) => {
        keep({ id, isOpening: false });
        const key = columnKey(id, field);
        // As with nodes: the first click locks its path, the next opens it.
        const isOpening = field !== ALL_ROWS && (isAlone || view.column === key || view.open !== null);
        // What is lit comes first: it would not be on a later page.
        const seeks = view.seeks.flatMap((search) => (search.text ? [{ ...search, page: 0 }] : []));
        change({ column: key, lit: null, seeks, ...(isOpening ? { open: openColumn(id, field), tab: null } : {}) });
      },
      // Letters are no steps to go back to.
      seek: (sought, isTyped) => change({ seeks: seek(view, sought) }, isTyped),
      openColumn: (id, field) => change({ open: openColumn(id, field), tab: null }),
    }),
    [view, change, keep],
  );
}
