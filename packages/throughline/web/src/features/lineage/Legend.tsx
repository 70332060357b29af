import { useEffect, useId, useState, type ReactNode } from "react";
import { Icon } from "../../components/Icon";

const LINES: readonly (readonly [string, string])[] = [
  ["data", "Data dependency"],
  ["control", "Control dependency: order only, no data"],
  ["lit", "Highlighted path"],
  ["column lit", "Column lineage: values"],
  ["column lit indirect", "Column lineage: filter, join, group or sort"],
  ["added", "Added between the compared times"],
  ["removed", "Removed between the compared times"],
];

/** A button that opens the legend. */
export function Legend(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.key === "?" && !isTyping) setOpen((isShown) => !isShown);
      if (event.key !== "Escape" || !isOpen) return;
      setOpen(false);
      event.stopPropagation(); // The next Escape closes the details.
    };
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, [isOpen]);
  return (
    <>
      <button type="button" className="button bare square" aria-label="Legend" title="Legend (?)" aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} onClick={() => setOpen(!isOpen)}>
        <Icon name="lost" />
      </button>
      {isOpen && (
        <ul className="legend" id={id} aria-label="Legend">
          <li>
            <i className="legend-job" /> Job: a pipeline, a task or a query
          </li>
          <li>
            <i className="legend-dataset" /> Table, file or stream
          </li>
          <li>
            <i className="legend-dataset made" /> Model or artifact
          </li>
          <li>
            <i className="legend-frame" /> Pipeline, with its tasks and their datasets
          </li>
          <li>
            <i className="alarm failed" /> Failed run or failed checks
          </li>
          <li>
            <i className="alarm late" /> Late, or no end event
          </li>
          {LINES.map(([tone, text]) => (
            <li key={tone}>
              <svg viewBox="0 0 28 4" className={`react-flow__edge ${tone}`} aria-hidden="true">
                <path className="react-flow__edge-path" d="M0 2h28" />
              </svg>
              {text}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
