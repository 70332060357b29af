import { clsx } from "clsx";
import { Handle, Position, useUpdateNodeInternals } from "@xyflow/react";
import { useEffect, useRef, type ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { COLUMNS_SHOWN, type RowPage } from "../../graph/columns";
import { columnKey } from "../../graph/lit";
import { ALL_ROWS } from "../../graph/types";
import { useActions } from "./actions";
import type { DatasetFlowNode } from "./flow";
import { COLUMNS, LINEAGE, NODE } from "../../strings/lineage";
import styles from "./columns.module.css";
import controls from "../../components/controls.module.css";
import marks from "./mark.module.css";

/** The columns of a dataset in its node, those with lineage first. A click locks the column's path. */
export function Columns({ data, columns }: { data: DatasetFlowNode["data"]; columns: RowPage }): ReactNode {
  const { node, litColumns, hues } = data;
  const { rows, all, found, page, pages, text, of } = columns;
  const { lockColumn, locked, seek, toggleLocked } = useActions();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Typing updates the address; going back updates the field.
    if (input.current && input.current !== document.activeElement) input.current.value = text;
  }, [text]);
  const goToPage = (to: number) => seek({ id: node.id, text, page: to });
  const names = rows.map((row) => row.name).join("\n");
  const update = useUpdateNodeInternals();
  useEffect(() => update(node.id), [update, node.id, names]);
  return (
    <div className={clsx(styles.columns, "nowheel", "nodrag", "nopan")}>
      {of !== null ? <p className={clsx(styles.path, "muted clip")}>{COLUMNS.onPath(all, of)}</p> : <input
        ref={input}
        className={styles.search}
        defaultValue={text}
        placeholder={COLUMNS.search(all)}
        aria-label={COLUMNS.searchOf(node.name)}
        disabled={all === 0}
        onChange={(event) => seek({ id: node.id, text: event.target.value, page: 0 }, true)}
      />}
      <ul>
        {rows.map((row) => {
          const key = columnKey(node.id, row.name);
          const isLit = litColumns.has(key);
          const isLocked = locked.includes(key);
          const canToggle = isLocked ? locked.length > 1 : locked.length > 0 && row.isRelated && !isLit;
          return (
            <li key={row.name} className={isLit ? styles.lit : litColumns.size ? styles.dim : undefined} data-hue={hues.get(key)}>
              <Handle type="target" position={Position.Left} id={`in:${row.name}`} isConnectable={false} />
              <button type="button" aria-pressed={isLit} className={row.isRelated ? "" : "muted"} onClick={(event) => (row.isRelated && (event.ctrlKey || event.metaKey) ? toggleLocked(node.id, row.name) : lockColumn(node.id, row.name, !row.isRelated))} title={titleOf(row, isLit)}>
                <span className="clip">{row.name}</span>
                {row.mark && <span className={clsx(marks.mark, marks[row.mark])}>{LINEAGE.marks[row.mark]}</span>}
                <span className="clip muted">{row.type}</span>
              </button>
              {canToggle && (
                <button type="button" className={styles.toggle} aria-label={isLocked ? COLUMNS.remove(row.name) : COLUMNS.add(row.name)} title={isLocked ? COLUMNS.remove(row.name) : COLUMNS.add(row.name)} onClick={() => toggleLocked(node.id, row.name)}>
                  <Icon name={isLocked ? "minus" : "plus"} />
                </button>
              )}
              <Handle type="source" position={Position.Right} id={`out:${row.name}`} isConnectable={false} />
            </li>
          );
        })}
      </ul>
      {found === 0 && all > 0 && <p className={clsx(styles.pages, "muted")}>{COLUMNS.noMatch}</p>}
      {pages > 1 && (
        <p className={clsx(styles.pages, "muted")}>
          <button type="button" className={controls.link} disabled={page === 0} onClick={() => goToPage(page - 1)}>
            {COLUMNS.back}
          </button>
          {COLUMNS.page(page * COLUMNS_SHOWN + 1, page * COLUMNS_SHOWN + rows.length, found)}
          <button type="button" className={controls.link} disabled={page === pages - 1} onClick={() => goToPage(page + 1)}>
            {COLUMNS.more}
          </button>
        </p>
      )}
    </div>
  );
}

function titleOf({ name, isRelated }: RowPage["rows"][number], isLit: boolean): string {
  if (name === ALL_ROWS) return COLUMNS.allRows;
  if (!isRelated) return COLUMNS.unrelated(name);
  return isLit ? NODE.detailsOf(name) : COLUMNS.highlight(name);
}
