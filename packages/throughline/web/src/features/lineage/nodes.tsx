import "./node.css";
import "./step.css";
import "./columns.css";
import "./frame.css";
import "./far.css";
import facts from "./facts.module.css";
import { Handle, type NodeProps, type NodeTypes } from "@xyflow/react";
import type { ReactNode } from "react";
import { Ago } from "../../components/Ago";
import { Icon } from "../../components/Icon";
import { PlatformIcon } from "../../components/PlatformIcon";
import { RunState } from "../../components/RunState";
import { kindText } from "../../platforms";
import { TROUBLE_TEXT } from "../../graph/state";
import { isPiiText } from "../../graph/tags";
import { duration, parts, short } from "../../graph/words";
import { useActions } from "./actions";
import { Columns } from "./Columns";
import { SIDES, type DatasetFlowNode, type FlowNode, type JobFlowNode } from "./flow";
import { Frame as PipelineFrame } from "./Frame";
import { Steps } from "./Steps";
import { LINEAGE, NODE } from "../../strings/lineage";

/** The frame of every node: name, kind, and a button on each side. */
function NodeFrame({ data, children, below }: { data: FlowNode["data"]; children: ReactNode; below?: ReactNode }): ReactNode {
  const { node, isDim, isLit, isRoot, mark, direction, trouble, isFramed } = data;
  const { select, toggle } = useActions();
  const { title, above } = parts(node.name, node.type);
  const where = above || node.namespace;
  const owners = node.owners.join(", ");
  const group = node.type === "job" ? node.group : undefined;
  const about = group ? NODE.group(group.jobs, group.datasets) : [kindText(node), isFramed ? "" : where, owners].filter(Boolean).join(" · ");
  const tone = [node.type, node.kind, direction, trouble && `alarm ${trouble}`, group && "stack", isDim && "dim", isLit && "lit", isRoot && "root", mark].filter(Boolean).join(" ");
  return (
    <div className={`node ${tone}`}>
      <Handle type="target" position={SIDES[direction].in} id="in" isConnectable={false} />
      <button
        type="button"
        className="node-face"
        data-node={node.id}
        onClick={() => (group?.kind === "chain" ? toggle(node.id) : select(node.id))}
        aria-pressed={isLit}
        title={group?.kind === "chain" ? NODE.expandChain : isLit || isRoot ? NODE.details : NODE.highlight}
      >
        <span className="node-head">
          <span className="node-kind">
            <PlatformIcon node={node} />
          </span>
          <span className="node-title clip" title={`${node.name}\n${node.namespace}`}>
            {title}
          </span>
          {mark && <span className={`mark ${mark}`}>{LINEAGE.marks[mark]}</span>}
          {trouble === "late" && <span className="mark late">{TROUBLE_TEXT[trouble]}</span>}
        </span>
        <span className="node-where muted">
          <span className="clip" title={[where, owners && NODE.ownedBy(owners)].filter(Boolean).join("\n")}>
            {about}
          </span>
          {node.type === "dataset" && node.version && (
            <span className="at-end" title={NODE.versionTitle(node.version)}>
              {NODE.version(node.version)}
            </span>
          )}
        </span>
        <span className="node-facts">{children}</span>
      </button>
      <Steps data={data} />
      {below}
      <Handle type="source" position={SIDES[direction].out} id="out" isConnectable={false} />
    </div>
  );
}

function Job({ data }: NodeProps<JobFlowNode>): ReactNode {
  const { run, group, id, name } = data.node;
  const { toggle } = useActions();
  const expand = group && (
    <button type="button" className="node-columns" aria-expanded={false} aria-label={NODE.expandOf(name)} title={NODE.expand} onClick={() => toggle(id)}>
      <Icon name="down" />
    </button>
  );
  return (
    <NodeFrame data={data} below={expand}>
      {run ? (
        <>
          <RunState state={run.state} />
          <span className="muted">{run.durationMs === null || group ? "" : duration(run.durationMs)}</span>
          <span className="muted at-end">
            <Ago at={run.startedAt} />
          </span>
        </>
      ) : (
        <span className="muted">{NODE.noRuns}</span>
      )}
    </NodeFrame>
  );
}

function Dataset({ data }: NodeProps<DatasetFlowNode>): ReactNode {
  const { node, columns } = data;
  const { toggleColumns } = useActions();
  const isExpanded = columns !== null && columns.of === null;
  return (
    <NodeFrame
      data={data}
      below={
        <>
          <button
            type="button"
            className="node-columns"
            aria-expanded={isExpanded}
            aria-label={NODE.columnsOf(node.name)}
            title={isExpanded ? NODE.hideColumns : NODE.showColumns}
            onClick={() => toggleColumns(node.id)}
          >
            <Icon name={isExpanded ? "up" : "down"} />
          </button>
          {columns && <Columns data={data} columns={columns} />}
        </>
      }
    >
      {node.failedChecks !== null && node.failedChecks > 0 && (
        <span className="state bad" title={NODE.failedChecksTitle(node.failedChecks)}>
          <Icon name="alert" />
          {NODE.failedChecks(node.failedChecks)}
        </span>
      )}
      {node.failedChecks === 0 && (
        <span className="state good" title={NODE.checksTitle}>
          <Icon name="done" />
          <span className={node.tags.length > 0 ? "hidden" : ""}>{NODE.checks}</span>
        </span>
      )}
      {node.rows !== null && <span className={`muted clip ${facts.rows}`} title={NODE.rowsTitle}>{NODE.rows(short(node.rows))}</span>}
      {node.tags.length > 0 && (
        <span className={`chip ${node.tags.length === 1 ? `clip ${facts.tag}` : facts.count}${node.tags.some(isPiiText) ? " pii" : ""}`} title={node.tags.join("\n")}>
          {node.tags.length === 1 ? node.tags[0] : NODE.tags(node.tags.length)}
        </span>
      )}
      <span className={`muted at-end ${facts.time}`}>{node.writtenAt ? <Ago at={node.writtenAt} /> : node.up === 0 && <span title={NODE.sourceTitle}>{NODE.source}</span>}</span>
    </NodeFrame>
  );
}

export const NODE_TYPES: NodeTypes = { job: Job, dataset: Dataset, frame: PipelineFrame };
