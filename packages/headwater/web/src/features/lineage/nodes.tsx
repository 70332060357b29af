import { clsx } from "clsx";
import { Handle, type NodeProps, type NodeTypes } from "@xyflow/react";
import { Fragment, type ReactNode } from "react";
import { Ago } from "../../components/Ago";
import { HealthLabel, HealthState } from "../../components/HealthState";
import { Icon } from "../../components/Icon";
import { PlatformIcon } from "../../components/PlatformIcon";
import { titleOfRemoval } from "../../components/Removal";
import { RunState } from "../../components/RunState";
import { kindText } from "../../platforms";
import { needsMark } from "../../graph/state";
import { isPiiText, joined } from "../../graph/tags";
import { duration, parts, short } from "../../graph/words";
import { useActions } from "./actions";
import { Columns } from "./Columns";
import { SIDES, type DatasetFlowNode, type FlowNode, type JobFlowNode } from "./flow";
import { Frame as PipelineFrame } from "./Frame";
import { Steps } from "./Steps";
import { COMPONENTS } from "../../strings/components";
import { LINEAGE, NODE } from "../../strings/lineage";
import facts from "./facts.module.css";
import styles from "./node.module.css";
import marks from "./mark.module.css";
import states from "../../components/state.module.css";
import tagStyles from "../../components/tags.module.css";

/** The frame of every node: name, kind, and a button on each side. */
function NodeFrame({ data, state, children, below }: { data: FlowNode["data"]; state: ReactNode; children: ReactNode; below?: ReactNode }): ReactNode {
  const { node, isDim, isLit, isRoot, mark, direction, trouble, isFramed } = data;
  const { select, toggle } = useActions();
  const { title, above } = parts(node.name, node.type);
  const where = above || node.namespace;
  const owners = node.owners.join(", ");
  const group = node.type === "job" ? node.group : undefined;
  const removal = node.type === "dataset" ? node.removal : null;
  const about = group ? NODE.group(group.jobs, group.datasets) : [kindText(node), isFramed ? "" : where, owners].filter(Boolean).join(" · ");
  const tone = clsx(styles.node, styles[node.type], styles[node.kind], styles[direction], group && styles.stack, isDim && styles.dim, isLit && styles.lit, isRoot && styles.root, mark && styles[mark]);
  return (
    <div className={tone} data-trouble={trouble ?? undefined} data-dim={isDim || undefined}>
      <Handle type="target" position={SIDES[direction].in} id="in" isConnectable={false} />
      <button
        type="button"
        className={styles.face}
        data-node={node.id}
        onClick={() => (group?.kind === "chain" ? toggle(node.id) : select(node.id))}
        aria-pressed={isLit}
        aria-current={isRoot || undefined}
        title={[node.name, node.namespace, group?.kind === "chain" ? NODE.expandChain : isLit || isRoot ? NODE.details : NODE.highlight].join("\n")}
      >
        <span className={styles.head}>
          <span className={styles.kind}>
            <PlatformIcon node={node} />
          </span>
          <span className={styles.title}>
            {title.split(/(?<=[_./-])/).map((part, place) => (
              <Fragment key={place}>
                {part}
                <wbr />
              </Fragment>
            ))}
          </span>
          {mark && <span className={clsx(marks.mark, marks[mark])}>{LINEAGE.marks[mark]}</span>}
          {removal && <span className={clsx(marks.mark, marks.gone)} title={titleOfRemoval(removal)}>{COMPONENTS.removals[removal.kind]}</span>}
        </span>
        <span className={clsx(styles.where, "muted")}>
          <span className="clip" title={[where, owners && NODE.ownedBy(owners)].filter(Boolean).join("\n")}>
            {about}
          </span>
        </span>
        <span className={styles.facts}>{state}</span>
        <span className={styles.facts}>{children}</span>
      </button>
      <Steps data={data} />
      {below}
      <Handle type="source" position={SIDES[direction].out} id="out" isConnectable={false} />
    </div>
  );
}

function Job({ data }: NodeProps<JobFlowNode>): ReactNode {
  const { run, group, id, name, health } = data.node;
  const { trouble } = data;
  const { toggle } = useActions();
  const expand = group && (
    <button type="button" className={styles.columns} aria-expanded={false} aria-label={NODE.expandOf(name)} title={NODE.expand} onClick={() => toggle(id)}>
      <Icon name="down" />
    </button>
  );
  return (
    <NodeFrame
      data={data}
      below={expand}
      state={
        trouble && needsMark(data.node, trouble) ? (
          <HealthLabel health={health} />
        ) : health.state === "streaming" ? (
          <HealthState health={health} />
        ) : run ? (
          <>
            <RunState state={run.state} />
            <span className={clsx("muted", styles.atEnd)}>
              <Ago at={run.startedAt} />
            </span>
          </>
        ) : (
          <span className="muted">{NODE.noRuns}</span>
        )
      }
    >
      <span className="muted">{run?.durationMs == null || group ? "" : duration(run.durationMs)}</span>
    </NodeFrame>
  );
}

function Dataset({ data }: NodeProps<DatasetFlowNode>): ReactNode {
  const { node, columns } = data;
  const { toggleColumns } = useActions();
  const isExpanded = columns !== null && columns.of === null;
  const tags = joined(node.tags);
  const isLong = node.health.state === "blocked"; // the label names the failed node
  const age = node.writtenAt && (
    <span className={clsx("muted", styles.atEnd)}>
      <Ago at={node.writtenAt} />
    </span>
  );
  return (
    <NodeFrame
      data={data}
      below={
        <>
          <button
            type="button"
            className={styles.columns}
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
      state={
        <>
          {node.up === 0 && !node.writtenAt ? <span className="muted" title={NODE.sourceTitle}>{NODE.source}</span> : <HealthLabel health={node.health} />}
          {!isLong && age}
        </>
      }
    >
      {node.failedChecks !== null && node.failedChecks > 0 && node.health.state !== "failed_checks" && (
        <span className={clsx(states.state, states.bad)} title={NODE.failedChecksTitle(node.failedChecks)}>
          <Icon name="alert" />
          {NODE.failedChecks(node.failedChecks)}
        </span>
      )}
      {node.failedChecks === 0 && (
        <span className={clsx(states.state, states.good)} title={NODE.checksTitle}>
          <Icon name="done" />
          <span className={node.tags.length > 0 ? "hidden" : ""}>{NODE.checks}</span>
        </span>
      )}
      {node.health.state === "failed" && <span className={clsx(states.state, states.bad)} title={node.health.message}>{node.health.message}</span>}
      {node.health.state !== "failed" && node.rows !== null && <span className={clsx("muted clip", facts.rows)} title={NODE.rowsTitle}>{NODE.rows(short(node.rows))}</span>}
      {node.tags.length > 0 && (
        <span className={clsx(tagStyles.chip, tags.length === 1 ? ["clip", facts.tag] : facts.count, node.tags.some(isPiiText) && tagStyles.pii, styles.chip)} title={tags.join("\n")}>
          {tags.length === 1 ? tags[0] : NODE.tags(tags.length)}
        </span>
      )}
      {isLong && age}
    </NodeFrame>
  );
}

export const NODE_TYPES: NodeTypes = { job: Job, dataset: Dataset, frame: PipelineFrame };
