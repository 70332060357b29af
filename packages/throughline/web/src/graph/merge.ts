import { ALL_ROWS, type ColumnEdge, type DatasetKind, type Graph, type GraphAnswer, type Level, type LineageEdge, type LineageNode, type NodeId, type Side, type Sources, type Told } from "./types";
import { neighboursOf } from "./visible";

const SIDES: readonly Side[] = ["up", "down"];
const KINDS: readonly string[] = ["table", "file", "artifact", "model", "stream"];

/** Merge several responses into one graph; the first one determines the roots and takes precedence. */
export function merge(answers: readonly GraphAnswer[]): Graph {
  const nodes = new Map<NodeId, LineageNode>();
  const edges = new Map<string, LineageEdge>();
  const columns = new Map<string, ColumnEdge>();
  const beyond = new Map<NodeId, Record<Side, number>>();
  for (const answer of answers) {
    const near = neighboursOf(answer.edges.filter((edge) => edge.kind === "data") as LineageEdge[]);
    for (const told of answer.nodes) {
      const id = told.id as NodeId;
      if (!nodes.has(id)) nodes.set(id, toNode(told));
      const most = beyond.get(id) ?? { up: 0, down: 0 };
      for (const side of SIDES) most[side] = Math.max(most[side], told[side] - (near[side].get(id)?.length ?? 0));
      beyond.set(id, most);
    }
    for (const told of answer.edges) {
      const edge = { from: told.from, to: told.to, kind: told.kind } as LineageEdge;
      edges.set(edgeKey(edge), edge);
    }
    for (const stated of answer.columns) {
      const edge = { ...stated, from: toEnd(stated.from), to: toEnd(stated.to) };
      columns.set(columnEdgeKey(edge), edge);
    }
  }
  // Neighbours at any of the moments: those in the answers, and the most that one of them leaves out.
  const near = neighboursOf([...edges.values()].filter((edge) => edge.kind === "data"));
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

/** The sources of outputs of jobs; at a moment at which all of a job's outputs come from all its inputs, these. */
function sourcesOf(answers: readonly GraphAnswer[]): Map<NodeId, Sources> {
  const found = new Map<NodeId, Sources>(answers.flatMap((answer) => answer.sources.map(({ job }) => [job as NodeId, new Map()])));
  for (const answer of answers) {
    const stated = new Set(answer.sources.map(({ job }) => job));
    const whole = [...found.keys()].filter((job) => !stated.has(job)).map((job) => ({
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

type StatedEnd = GraphAnswer["columns"][number]["from" | "to"];

export function columnEdgeKey({ from, to }: { from: StatedEnd; to: StatedEnd }): string {
  const ends = [toEnd(from), toEnd(to)];
  return JSON.stringify(ends.flatMap((end) => [end.id, end.field]));
}

function toEnd({ id, field }: StatedEnd): ColumnEdge["from"] {
  return { id, field: field ?? ALL_ROWS };
}

function toNode(told: Told): LineageNode {
  const { namespace, name, platform, owners, tags, up, down } = told;
  const base = { id: told.id as NodeId, namespace, name, platform, owners, tags, up, down };
  if (told.type === "job") {
    return { ...base, type: "job", kind: told.kind as Level, run: told.run, pipeline: told.pipeline as NodeId | null };
  }
  const kind = (KINDS.includes(told.kind) ? told.kind : "table") as DatasetKind;
  const { version, writtenAt, rows, failedChecks, fields } = told;
  return { ...base, type: "dataset", kind, version, writtenAt, rows, failedChecks, fields };
}
