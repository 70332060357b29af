import type { NodeProps } from "@xyflow/react";
import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { useActions } from "./actions";
import type { FrameFlowNode } from "./flow";

/** A pipeline around its tasks; its button draws it as one node. */
export function Frame({ data }: NodeProps<FrameFlowNode>): ReactNode {
  const { frame } = data.box;
  const { toggle, select } = useActions();
  return (
    <section className="frame" aria-label={`Pipeline ${frame.name}`}>
      <p className="frame-head">
        <button type="button" className="frame-toggle nodrag" onClick={() => toggle(frame.id)} aria-expanded={true} aria-label={`Collapse ${frame.name}`} title="Draw the pipeline as one node">
          <Icon name="down" />
        </button>
        <button type="button" className="frame-name clip nodrag" onClick={() => select(frame.id, true)} title={`${frame.name}: open its details`}>
          {frame.name}
        </button>
      </p>
    </section>
  );
}
