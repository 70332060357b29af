import { clsx } from "clsx";
import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { MOST_NEIGHBORS } from "../../graph/view";
import { useActions } from "./actions";
import type { FlowNode } from "./flow";
import { NODE } from "../../strings/lineage";
import styles from "./node.module.css";

/** Buttons on both sides of a node to show more nodes or hide shown ones. */
export function Steps({ data }: { data: FlowNode["data"] }): ReactNode {
  const { node, more: counts, shownSides } = data;
  const { step } = useActions();
  return (["up", "down"] as const).map((side) => {
    const more = counts[side];
    if (more <= 0 && !shownSides[side]) return null;
    const text = more > 0 ? NODE.showSide(more, NODE.side[side], node.name) : NODE.hideSide(NODE.side[side], node.name);
    return (
      <button key={side} type="button" className={clsx(styles.step, styles[side], more > 0 && styles.more)} onClick={() => step(side, node.id, Math.max(0, more))} aria-label={text} title={text}>
        <Icon name={more > 0 ? "plus" : "minus"} />
        {more > MOST_NEIGHBORS ? NODE.more(more) : more > 0 && more}
      </button>
    );
  });
}
