import type { ReactNode } from "react";
import type { Graph } from "../../graph/types";
import type { Outside } from "./Canvas";
import { columnOf, lockedIn } from "../../graph/lit";
import { DEEPEST, type View } from "../../graph/view";
import type { Shown } from "../../graph/visible";
import { moment } from "../../graph/words";
import { NOTES } from "../../strings/lineage";
import styles from "./notes.module.css";
import controls from "../../components/controls.module.css";

interface Props {
  view: View;
  change: (change: Partial<View>) => void;
  graph: Graph;
  shown: Shown;
  /** The number of lines between columns that are not shown. */
  left: number;
  /** The locked column's dataset is the only one shown on its path. */
  isAlone: boolean;
  outside: Outside | null;
}

/** Convert steps between datasets to steps between jobs and datasets. */
const stepsOver = (steps: number) => Math.min(2 * steps, DEEPEST);

/** Notes about hidden parts of the graph, with buttons to show them. */
export function Notes({ view, change, graph, shown, left, isAlone, outside }: Props): ReactNode {
  const { jobs } = graph.left;
  const { control } = shown.left;
  const beyond = [...shown.hidden.values()].reduce((sum, count) => sum + Math.max(0, count.up) + Math.max(0, count.down), 0);
  const isElsewhere = graph.roots.length > 0 && !graph.roots.includes(view.node as Graph["roots"][number]) && view.node.startsWith("job:");
  const notes: { key: string; text: string; show?: [string, Partial<View> | (() => void)] }[] = [
    { key: "count", text: NOTES.nodes(shown.nodes.length) },
  ];
  if (outside) notes.push({ key: "outside", text: NOTES.outside(outside.count), show: [NOTES.fit, outside.fitAll] });
  if (isElsewhere) notes.push({ key: "level", text: NOTES.elsewhere(view.node.slice(view.node.lastIndexOf(":") + 1), NOTES.level[view.level]) });
  if (beyond > 0) notes.push({ key: "beyond", text: NOTES.beyond(beyond) });
  if (view.datasetsOnly && jobs === 0 && beyond === 0) notes.push({ key: "alone", text: NOTES.noJobs, show: [NOTES.showJobs, { datasetsOnly: false }] });
  else if (view.datasetsOnly) notes.push({ key: "jobs", text: NOTES.jobs(jobs), show: [NOTES.show, { datasetsOnly: false, up: stepsOver(view.up), down: stepsOver(view.down) }] });
  if (control > 0) notes.push({ key: "control", text: NOTES.control(control), show: [NOTES.show, { control: true }] });
  if (view.level === "pipeline") notes.push({ key: "inner", text: NOTES.inner, show: [NOTES.showTasks, { level: "task" }] });
  if (view.folded.length > 0) notes.push({ key: "folded", text: NOTES.folded(view.folded.length), show: [NOTES.expand, { folded: [] }] });
  if (left > 0) notes.push({ key: "lines", text: NOTES.lines(left), ...(view.seeks.length > 0 && { show: [NOTES.firstColumns, { seeks: [] }] as [string, Partial<View>] }) });
  if (view.column) notes.push({ key: "column", text: NOTES.locked(lockedIn(view).map((key) => columnOf(key)[1])), show: [NOTES.unlock, { column: null }] });
  if (isAlone && beyond > 0 && !view.datasetsOnly) notes.push({ key: "alone-column", text: NOTES.alone, show: [NOTES.twoSteps, { up: Math.min(view.up + 2, DEEPEST), down: Math.min(view.down + 2, DEEPEST) }] });
  if (view.at) notes.push({ key: "at", text: NOTES.asOf(moment(view.at)), show: [NOTES.now, { at: null }] });
  return (
    <div className={styles.notes} role="status" data-testid="notes">
      {notes.map(({ key, text, show }) => (
        <span key={key}>
          {text}{" "}
          {show && (
            <button type="button" className={controls.link} onClick={() => (typeof show[1] === "function" ? show[1]() : change(show[1]))}>
              {show[0]}
            </button>
          )}
        </span>
      ))}
    </div>
  );
}
