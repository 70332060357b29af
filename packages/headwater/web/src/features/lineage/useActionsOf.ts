import { useMemo } from "react";
import type { Change } from "../../navigation/address";
import { columnKey, openColumn, lockedIn, toggleLocked } from "../../graph/lit";
import { ALL_ROWS } from "../../graph/types";
import { type Grip, formatGrip } from "../../graph/grips";
import { fold, grow, MOST_NEIGHBORS, seek, toggleGroup, type View } from "../../graph/view";
import type { Actions } from "./actions";
import type { Anchor } from "./Canvas";

/** Return the actions of nodes as changes of the view. */
export function useActionsOf(view: View, change: Change, setAnchor: (anchor: Anchor) => void, choose: (of: Grip) => void): Actions {
  return useMemo(
    () => ({
      select: (id, isOpening = false) => {
        setAnchor({ id, isOpening: false });
        // The first click highlights the path, the second opens the details. The root's path is the whole graph.
        change(isOpening || view.lit === id || view.node === id ? { open: id, tab: null } : { lit: id, column: null, ...(view.open ? { open: id, tab: null } : {}) });
      },
      step: (side, id, more) => {
        const isMore = more > 0;
        const grip = formatGrip(side, id);
        // Many neighbors that were not shown before are chosen from a list.
        if (more > MOST_NEIGHBORS && !view.folded.includes(grip)) {
          choose(grip);
          return;
        }
        setAnchor({ id, isOpening: isMore });
        change(isMore ? grow(view, side, id) : fold(view, side, id));
      },
      toggle: (id) => {
        setAnchor({ id, isOpening: false });
        change(toggleGroup(view, id));
      },
      toggleColumns: (id) => {
        setAnchor({ id, isOpening: false });
        const isOpen = view.columns.includes(id);
        change(isOpen ? { columns: view.columns.filter((column) => column !== id), seeks: view.seeks.filter((search) => search.id !== id) } : { columns: [...view.columns, id] });
      },
      lockColumn: (id, field, isAlone) => {
        setAnchor({ id, isOpening: false });
        const key = columnKey(id, field);
        // As with nodes, the first click locks the path and the second opens the details.
        const isOpening = field !== ALL_ROWS && (isAlone || view.column === key || view.open !== null);
        // Highlighted columns come first, so show the first page.
        const seeks = view.seeks.flatMap((search) => (search.text ? [{ ...search, page: 0 }] : []));
        change({ column: key, also: [], lit: null, seeks, ...(isOpening ? { open: openColumn(id, field), tab: null } : {}) });
      },
      locked: lockedIn(view),
      toggleLocked: (id, field) => {
        setAnchor({ id, isOpening: false });
        change(toggleLocked(view, columnKey(id, field)));
      },
      // Typing adds no entries to the browser's history.
      seek: (search, isTyped) => change({ seeks: seek(view, search) }, isTyped),
      openColumn: (id, field) => change({ open: openColumn(id, field), tab: null }),
    }),
    [view, change, setAnchor, choose],
  );
}
