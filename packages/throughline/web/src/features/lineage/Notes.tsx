import type { ReactNode } from "react";
import type { Graph } from "../../graph/types";
import type { Outside } from "./Canvas";
import { DEEPEST, type View } from "../../graph/view";
import type { Shown } from "../../graph/visible";
import { moment, plural } from "../../graph/words";
import styles from "./notes.module.css";

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

const SHOWN_LEVEL: Record<View["level"], string> = { pipeline: "its pipeline is shown", task: "its tasks are shown", query: "its queries are shown" };

/** Convert steps between datasets to steps between jobs and datasets. */
const stepsOver = (steps: number) => Math.min(2 * steps, DEEPEST);

/** Notes about hidden parts of the graph, with buttons to show them. */
export function Notes({ view, change, graph, shown, left, isAlone, outside }: Props): ReactNode {
  const { jobs } = graph.left;
  const { control } = shown.left;
  const beyond = [...shown.hidden.values()].reduce((sum, count) => sum + Math.max(0, count.up) + Math.max(0, count.down), 0);
  const isElsewhere = graph.roots.length > 0 && !graph.roots.includes(view.node as Graph["roots"][number]) && view.node.startsWith("job:");
  const notes: { key: string; text: string; show?: [string, Partial<View> | (() => void)] }[] = [
    { key: "count", text: plural(shown.nodes.length, "node") },
  ];
  if (outside) notes.push({ key: "outside", text: `${plural(outside.count, "node is", "nodes are")} outside the window`, show: ["Fit all", outside.fitAll] });
  if (isElsewhere) notes.push({ key: "level", text: `${view.node.slice(view.node.lastIndexOf(":") + 1)}: ${SHOWN_LEVEL[view.level]}` });
  if (beyond > 0) notes.push({ key: "beyond", text: `${plural(beyond, "line")} to hidden nodes; + on a node shows them` });
  if (view.datasetsOnly && jobs === 0 && beyond === 0) notes.push({ key: "alone", text: "No jobs connect it to other datasets", show: ["Show jobs", { datasetsOnly: false }] });
  else if (view.datasetsOnly) notes.push({ key: "jobs", text: `${plural(jobs, "job")} drawn as lines`, show: ["Show", { datasetsOnly: false, up: stepsOver(view.up), down: stepsOver(view.down) }] });
  if (control > 0) notes.push({ key: "control", text: `${plural(control, "control line")} hidden`, show: ["Show", { control: true }] });
  if (view.level === "pipeline") notes.push({ key: "inner", text: "Datasets inside a pipeline are hidden", show: ["Show tasks", { level: "task" }] });
  if (view.folded.length > 0) notes.push({ key: "folded", text: `${plural(view.folded.length, "side")} collapsed`, show: ["Expand", { folded: [] }] });
  if (left > 0) notes.push({ key: "lines", text: `${plural(left, "line")} to columns that are not shown`, ...(view.seeks.length > 0 && { show: ["Show the first columns", { seeks: [] }] as [string, Partial<View>] }) });
  if (view.column) notes.push({ key: "column", text: `Locked on ${view.column.slice(view.column.lastIndexOf("|") + 1)}`, show: ["Unlock", { column: null }] });
  if (isAlone && beyond > 0 && !view.datasetsOnly) notes.push({ key: "alone-column", text: "Its upstream and downstream columns are not shown", show: ["Show two more steps", { up: Math.min(view.up + 2, DEEPEST), down: Math.min(view.down + 2, DEEPEST) }] });
  if (view.at) notes.push({ key: "at", text: `As of ${moment(view.at)}`, show: ["Now", { at: null }] });
  return (
    <div className={styles.notes} role="status" data-testid="notes">
      {notes.map(({ key, text, show }) => (
        <span key={key}>
          {text}{" "}
          {show && (
            <button type="button" className="link" onClick={() => (typeof show[1] === "function" ? show[1]() : change(show[1]))}>
              {show[0]}
            </button>
          )}
        </span>
      ))}
    </div>
  );
}
