/** The page's types of a lineage graph, which `merge` builds from API responses. */
import type { Answer } from "../api/client";

export type NodeId = string & { readonly brand: "node" };
export type Level = "pipeline" | "task" | "query";
/** The level of a job; an exposure of dbt is at the level of tasks, a job of unknown type at that of queries. */
export type JobKind = Level | "exposure" | "job";
export type Side = "up" | "down";
export type Direction = "right" | "down";
export type DatasetKind = "table" | "view" | "file" | "artifact" | "model" | "stream";
export type GraphAnswer = Answer<"graph">;
/** A node as in a response of the API. */
export type ApiNode = GraphAnswer["nodes"][number];
export type RunLine = NonNullable<ApiNode["run"]>;

/** The name of the row that represents a whole dataset, for edges that filter, join, group or sort its rows. */
export const ALL_ROWS = "(all rows)";

interface ColumnEnd {
  id: string;
  field: string;
}

/** An edge from a column to one that depends on it; indirect edges only determine which rows exist. */
export interface ColumnEdge {
  from: ColumnEnd;
  to: ColumnEnd;
  how: string;
  isDirect: boolean;
}

/** Common fields of jobs and datasets. `up` and `down` count all neighbors, shown or not. */
interface Base {
  id: NodeId;
  namespace: string;
  name: string;
  /** Reported integration of a job, or storage layer of a dataset. */
  platform: string | null;
  owners: string[];
  tags: string[];
  health: ApiNode["health"];
  up: number;
  down: number;
}

export interface JobNode extends Base {
  type: "job";
  kind: JobKind;
  run: RunLine | null;
  /** Pipeline that contains the job. */
  pipeline: NodeId | null;
  /** State of that pipeline, by its own run. */
  pipelineHealth: ApiNode["pipelineHealth"];
  /** Group that the node represents if several nodes are drawn as one. */
  group?: Group;
}

/** Several nodes drawn as one. */
export interface Group {
  kind: "pipeline" | "chain";
  jobs: number;
  datasets: number;
  members: NodeId[];
}

export interface DatasetNode extends Base {
  type: "dataset";
  kind: DatasetKind;
  version: string | null;
  writtenAt: string | null;
  rows: number | null;
  failedChecks: number | null;
  removal: ApiNode["removal"];
  fields: { name: string; type: string }[];
}

export type LineageNode = JobNode | DatasetNode;

export interface LineageEdge {
  from: NodeId;
  to: NodeId;
  kind: "data" | "control";
  /** The grade of the evidence of a data edge between a task and a dataset. */
  grade?: "verified" | "reported" | "possible" | "contradicted" | "stale" | null;
}

/** The inputs of each output of a job. */
export type Sources = Map<NodeId, Set<NodeId>>;

export interface Graph {
  roots: NodeId[];
  reach: Record<Side, number>;
  /** Number of jobs omitted if only datasets are shown. */
  left: { jobs: number };
  nodes: Map<NodeId, LineageNode>;
  edges: LineageEdge[];
  /** Sources of jobs whose outputs come from different inputs; for other jobs, every output comes from every input. */
  sources: Map<NodeId, Sources>;
  columns: ColumnEdge[];
}

/** A column search in a dataset: the text in the names and the page of results. */
export interface Seek {
  id: NodeId;
  text: string;
  page: number;
}

/** The shown time: `now`, a time, or `FROM~TO` for the difference between two. */
export type Moment = string;
