import { Handle, Position, useUpdateNodeInternals } from "@xyflow/react";
import { useEffect, useState, type ReactNode } from "react";
import { COLUMNS_SHOWN, type ColumnRow } from "../../graph/columns";
import { columnKey } from "../../graph/lit";
import { useActions } from "./actions";
import type { DatasetFlowNode } from "./flow";
import { MARKS } from "./marks";

/** The columns of a dataset in its node, those with lineage first; a click locks one's path. */
export function Columns({ data, rows }: { data: DatasetFlowNode["data"]; rows: ColumnRow[] }): ReactNode {
  const { node, litColumns } = data;
  const { lockColumn, openColumn } = useActions();
  const [text, setText] = useState("");
  const [page, setPage] = useState(0);
  const wanted = text.trim().toLowerCase();
  const found = rows.filter((row) => row.name.toLowerCase().includes(wanted));
  // What is lit is never on another page.
  const ordered = found.toSorted((a, b) => Number(litColumns.has(columnKey(node.id, b.name))) - Number(litColumns.has(columnKey(node.id, a.name))));
  const pages = Math.max(1, Math.ceil(ordered.length / COLUMNS_SHOWN));
  const at = Math.min(page, pages - 1);
  const shown = ordered.slice(at * COLUMNS_SHOWN, (at + 1) * COLUMNS_SHOWN);
  const names = shown.map((row) => row.name).join("\n");
  const update = useUpdateNodeInternals();
  useEffect(() => update(node.id), [update, node.id, names]);
  return (
    <div className="columns nowheel nodrag nopan">
      <input
        className="columns-search"
        value={text}
        placeholder={rows.length ? `Search ${rows.length} columns` : "No columns were told"}
        aria-label={`Search the columns of ${node.name}`}
        disabled={rows.length === 0}
        onChange={(event) => {
          setText(event.target.value);
          setPage(0);
        }}
      />
      <ul>
        {shown.map((row) => {
          const isLit = litColumns.has(columnKey(node.id, row.name));
          return (
            <li key={row.name} className={isLit ? "lit" : litColumns.size ? "dim" : ""}>
              <Handle type="target" position={Position.Left} id={`in:${row.name}`} isConnectable={false} />
              <button type="button" aria-pressed={isLit} className={row.isRelated ? "" : "muted"} onClick={() => (row.isRelated ? lockColumn(node.id, row.name) : openColumn(node.id, row.name))} title={!row.isRelated ? `${row.name}: nothing told what it is made of or makes, among what is shown. Open its details` : isLit ? `${row.name}: open its details` : `${row.name}: light its path`}>
                <span className="clip">{row.name}</span>
                {row.mark && <span className={`mark ${row.mark}`}>{MARKS[row.mark]}</span>}
                <span className="clip muted">{row.type}</span>
              </button>
              <Handle type="source" position={Position.Right} id={`out:${row.name}`} isConnectable={false} />
            </li>
          );
        })}
      </ul>
      {pages > 1 && (
        <p className="columns-pages muted">
          <button type="button" className="link" disabled={at === 0} onClick={() => setPage(at - 1)}>
            Back
          </button>
          {at * COLUMNS_SHOWN + 1}–{at * COLUMNS_SHOWN + shown.length} of {ordered.length}
          <button type="button" className="link" disabled={at === pages - 1} onClick={() => setPage(at + 1)}>
            More
          </button>
        </p>
      )}
    </div>
  );
}
