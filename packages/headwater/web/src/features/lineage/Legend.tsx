import { clsx } from "clsx";
import { useEffect, useId, useState, type ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { OutLink } from "../../components/OutLink";
import { LEGEND } from "../../strings/lineage";
import controls from "../../components/controls.module.css";
import styles from "./legend.module.css";

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
      <button type="button" className={clsx(controls.button, controls.bare, controls.square)} aria-label={LEGEND.label} title={LEGEND.title} aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} onClick={() => setOpen(!isOpen)}>
        <Icon name="lost" />
      </button>
      {isOpen && (
        <ul className={styles.legend} id={id} aria-label={LEGEND.label}>
          <li>
            <i className={styles.job} /> {LEGEND.job}
          </li>
          <li>
            <i className={styles.dataset} /> {LEGEND.dataset}
          </li>
          <li>
            <i className={clsx(styles.dataset, styles.made)} /> {LEGEND.model}
          </li>
          <li>
            <i className={styles.frame} /> {LEGEND.frame}
          </li>
          <li>
            <i className={styles.alarm} data-trouble="failed" /> {LEGEND.failed}
          </li>
          <li>
            <i className={styles.alarm} data-trouble="late" /> {LEGEND.late}
          </li>
          {LEGEND.lines.map(([tone, text]) => (
            <li key={tone}>
              <svg viewBox="0 0 28 4" className={`react-flow__edge ${tone}`} aria-hidden="true">
                <path className="react-flow__edge-path" d="M0 2h28" />
              </svg>
              {text}
            </li>
          ))}
          <li className={styles.credit}>
            <OutLink href="https://reactflow.dev">{LEGEND.credit}</OutLink>
          </li>
        </ul>
      )}
    </>
  );
}
