import { ALL_ROWS, type ColumnEdge, type DatasetKind, type Graph, type GraphAnswer, type JobKind, type LineageEdge, type LineageNode, type NodeId, type Side, type Sources, type ApiNode } from "./types";
import { neighborsOf } from "./visible";

const SIDES: readonly Side[] = ["up", "down"];
const KINDS: readonly string[] = ["table", "view", "file", "artifact", "model", "stream"];

/** Merge several responses into one graph; the first one determines the roots and takes precedence. */
export function merge(answers: readonly GraphAnswer[]): Graph {
  const nodes = new Map<NodeId, LineageNode>();
  const edges = new Map<string, LineageEdge>();
  const columns = new Map<string, ColumnEdge>();
  // The most neighbors of a node that one response counts but does not contain.
  const beyond = new Map<NodeId, Record<Side, number>>();
  for (const answer of answers) {
    const near = neighborsOf(answer.edges.filter((edge) => edge.kind === "data") as LineageEdge[]);
    for (const answerNode of answer.nodes) {
      const id = answerNode.id as NodeId;
      if (!nodes.has(id)) nodes.set(id, toNode(answerNode));
      const most = beyond.get(id) ?? { up: 0, down: 0 };
      for (const side of SIDES) most[side] = Math.max(most[side], answerNode[side] - (near[side].get(id)?.length ?? 0));
      beyond.set(id, most);
    }
    for (const answerEdge of answer.edges) {
      const edge = { from: answerEdge.from, to: answerEdge.to, kind: answerEdge.kind, grade: answerEdge.grade } as LineageEdge;
      edges.set(edgeKey(edge), edge);
    }
    for (const answerColumn of answer.columns) {
      const edge = { ...answerColumn, from: toEnd(answerColumn.from), to: toEnd(answerColumn.to) };
      columns.set(columnEdgeKey(edge), edge);
    }
  }
  // Count neighbors at any of the times: those in the responses, plus the most that one response omits.
  const near = neighborsOf([...edges.values()].filter((edge) => edge.kind === "data"));
  for (const [id, most] of beyond) {
    const node = nodes.get(id) as LineageNode;
    for (const side of SIDES) node[side] = most[side] + (near[side].get(id)?.length ?? 0);
  }
  return {
    roots: (answers[0]?.roots ?? []) as NodeId[],
    reach: answers[0]?.reach ?? { up: 0, down: 0 },
    left: answers[0]?.left ?? { jobs: 0 },
    nodes,
    edges: [...edges.values()],
    sources: sourcesOf(answers),
    columns: [...columns.values()],
  };
}

/** Merge the sources of jobs' outputs; a response without sources for a job means all of its inputs. */
function sourcesOf(answers: readonly GraphAnswer[]): Map<NodeId, Sources> {
  const found = new Map<NodeId, Sources>(answers.flatMap((answer) => answer.sources.map(({ job }) => [job as NodeId, new Map()])));
  for (const answer of answers) {
    const jobsWithSources = new Set(answer.sources.map(({ job }) => job));
    const whole = [...found.keys()].filter((job) => !jobsWithSources.has(job)).map((job) => ({
      job,
      inputs: answer.edges.filter((edge) => edge.to === job).map((edge) => edge.from),
      outputs: answer.edges.filter((edge) => edge.from === job).map((edge) => edge.to),
    })); // prettier-ignore
    for (const { job, inputs, outputs } of [...answer.sources, ...whole]) {
      const sources = found.get(job as NodeId) as Sources;
      for (const output of outputs as NodeId[]) sources.set(output, new Set([...(sources.get(output) ?? []), ...(inputs as NodeId[])]));
    }
  }
  return found;
}

export function edgeKey(edge: LineageEdge): string {
  return `${edge.kind} ${edge.from} ${edge.to}`;
}

type ApiColumnEnd = GraphAnswer["columns"][number]["from" | "to"];

export function columnEdgeKey({ from, to }: { from: ApiColumnEnd; to: ApiColumnEnd }): string {
  const ends = [toEnd(from), toEnd(to)];
  return JSON.stringify(ends.flatMap((end) => [end.id, end.field]));
}

function toEnd({ id, field }: ApiColumnEnd): ColumnEdge["from"] {
  return { id, field: field ?? ALL_ROWS };
}

function toNode(node: ApiNode): LineageNode {
  const { namespace, name, platform, owners, tags, health, up, down } = node;
  const base = { id: node.id as NodeId, namespace, name, platform, owners, tags, health, up, down };
  if (node.type === "job") {
    return { ...base, type: "job", kind: node.kind as JobKind, run: node.run, pipeline: node.pipeline as NodeId | null, pipelineHealth: node.pipelineHealth };
  }
  const kind = (KINDS.includes(node.kind) ? node.kind : "table") as DatasetKind;
  const { version, writtenAt, rows, failedChecks, removal, fields } = node;
  return { ...base, type: "dataset", kind, version, writtenAt, rows, failedChecks, removal, fields };
}
