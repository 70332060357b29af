import { clsx } from "clsx";
import type { NodeProps } from "@xyflow/react";
import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { PlatformIcon } from "../../components/PlatformIcon";
import { TROUBLE_TEXT } from "../../graph/state";
import { useActions } from "./actions";
import type { FrameFlowNode } from "./flow";
import { NODE } from "../../strings/lineage";
import styles from "./frame.module.css";
import marks from "./mark.module.css";

/** A frame around the tasks of a pipeline, with a button to collapse it into one node. */
export function Frame({ data }: NodeProps<FrameFlowNode>): ReactNode {
  const { box: { frame }, trouble } = data;
  const { toggle, select } = useActions();
  return (
    <section className={styles.frame} data-trouble={trouble ?? undefined} aria-label={NODE.pipeline(frame.name)}>
      <p className={styles.head}>
        <button type="button" className={clsx(styles.toggle, "nodrag")} onClick={() => toggle(frame.id)} aria-expanded={true} aria-label={NODE.collapseOf(frame.name)} title={NODE.collapse}>
          <Icon name="down" />
        </button>
        <button type="button" className={clsx(styles.name, "nodrag")} onClick={() => select(frame.id, true)} title={NODE.detailsOf(frame.name)}>
          <PlatformIcon node={{ kind: "pipeline", namespace: "", platform: frame.platform }} />
          <span className="clip">{frame.name}</span>
        </button>
        {trouble && <span className={clsx(marks.mark, marks[trouble])} title={frame.health?.message}>{TROUBLE_TEXT[trouble]}</span>}
      </p>
    </section>
  );
}
