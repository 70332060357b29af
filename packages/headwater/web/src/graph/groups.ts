import type { JobNode, LineageEdge, LineageNode, NodeId } from "./types";
import type { Shown } from "./visible";

/** The shown tasks of a pipeline, with the datasets that only these tasks write and read. */
export interface Frame {
  id: NodeId;
  name: string;
  /** Platform of its tasks. */
  platform: string | null;
  /** State of the pipeline's own run, even if only some of its nodes are shown. */
  health: JobNode["pipelineHealth"];
  members: NodeId[];
}

const LEAST = 2;
/** Minimum number of nodes in a chain. */
const LEAST_CHAIN = 2;

/** Return the pipelines with several shown tasks. */
export function framesOf(nodes: readonly LineageNode[], edges: readonly LineageEdge[]): Frame[] {
  const owner = ownersOf(nodes, edges);
  const members = new Map<NodeId, NodeId[]>();
  for (const { id } of nodes) {
    const frame = owner.get(id);
    if (frame) members.set(frame, [...(members.get(frame) ?? []), id]);
  }
  const platforms = new Map(nodes.map((node) => [node.id, node.type === "job" ? node.platform : null]));
  const states = new Map(nodes.map((node) => [node.id, node.type === "job" ? node.pipelineHealth : null]));
  return [...members].map(([id, ids]) => ({ id, name: nameOf(id), health: ids.map((member) => states.get(member)).find(Boolean) ?? null, platform: ids.map((member) => platforms.get(member)).find(Boolean) ?? null, members: ids }));
}

/** Return the pipeline of each node inside a frame: of a task, and of a dataset that only tasks of one pipeline write and read. */
function ownersOf(nodes: readonly LineageNode[], edges: readonly LineageEdge[]): Map<NodeId, NodeId> {
  const owner = new Map(nodes.flatMap((node) => (node.type === "job" && node.pipeline ? [[node.id, node.pipeline] as const] : [])));
  const counts = countOf([...owner.values()]);
  for (const [id, pipeline] of owner) if (Number(counts.get(pipeline)) < LEAST) owner.delete(id);
  const jobs = new Map(owner);
  for (const node of nodes) {
    if (node.type !== "dataset") continue;
    const writers = edges.filter((edge) => edge.to === node.id).map((edge) => jobs.get(edge.from));
    const readers = edges.filter((edge) => edge.from === node.id).map((edge) => jobs.get(edge.to));
    const [first, ...others] = new Set([...writers, ...readers]);
    if (first && others.length === 0 && writers.length > 0 && readers.length > 0) owner.set(node.id, first);
  }
  return owner;
}

/** Return the name in a job's id: the part after the namespace, which may contain colons. */
function nameOf(id: NodeId): string {
  return id.slice(id.lastIndexOf(":") + 1);
}

/** The part of a view that determines which nodes are drawn as one. */
export interface Folding {
  /** Pipelines drawn as one node. */
  collapsed: readonly string[];
  /** True to draw chains as one node, except the `expanded` ones. */
  chains: boolean;
  expanded: readonly string[];
}

/** Draw collapsed pipelines and chains as one node each; `kept` nodes are never part of a chain. */
export function folded(shown: Shown, { collapsed, chains, expanded }: Folding, kept: ReadonlySet<string>): Shown {
  const frames = collapsed.length === 0 ? [] : framesOf(shown.nodes, shown.edges).filter((frame) => collapsed.includes(frame.id));
  const whole = frames.reduce((graph, frame) => joined(graph, frame.members, frame.id, frame.name, "pipeline"), shown);
  if (!chains) return whole;
  const found = chainsOf(whole, kept).filter(({ id }) => !expanded.includes(id));
  return found.reduce((graph, { id, members }) => joined(graph, members, id, titleOf(members.length), "chain"), whole);
}

const titleOf = (count: number) => `${count} steps in a row`;

/** Find chains: connected nodes of one pipeline with one neighbor on each side. */
function chainsOf({ nodes, edges }: Shown, kept: ReadonlySet<string>): { id: NodeId; members: NodeId[] }[] {
  const owner = ownersOf(nodes, edges);
  const data = edges.filter((edge) => edge.kind === "data");
  const into = countOf(data.map((edge) => edge.to));
  const out = countOf(data.map((edge) => edge.from));
  const isLink = (id: NodeId) => into.get(id) === 1 && out.get(id) === 1 && !kept.has(id);
  const next = new Map(data.filter(({ from, to }) => isLink(from) && isLink(to) && owner.get(from) === owner.get(to)).map((edge) => [edge.from, edge.to]));
  const inner = new Set(next.values());
  return nodes
    .filter(({ id }) => next.has(id) && !inner.has(id))
    .map(({ id }) => {
      const members = [id];
      for (let at = next.get(id); at !== undefined; at = next.get(at)) members.push(at);
      return { id: `chain:${id}` as NodeId, members };
    })
    .filter(({ members }) => members.length >= LEAST_CHAIN);
}

function countOf(ids: readonly NodeId[]): Map<NodeId, number> {
  const counts = new Map<NodeId, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** Replace several nodes of a graph with one group node; edges between them disappear, and others end at the group. */
function joined(shown: Shown, members: readonly NodeId[], id: NodeId, name: string, kind: "pipeline" | "chain"): Shown {
  const inside = new Set(members);
  const nodes = shown.nodes.filter((node) => inside.has(node.id));
  const end = (at: NodeId) => (inside.has(at) ? id : at);
  const edges = new Map<string, LineageEdge>();
  for (const edge of shown.edges) {
    const [from, to] = [end(edge.from), end(edge.to)];
    if (from !== to || edge.from === edge.to) edges.set(`${edge.kind} ${from} ${to}`, inside.has(edge.from) || inside.has(edge.to) ? { from, to, kind: edge.kind } : edge);
  }
  const rest = shown.nodes.filter((node) => !inside.has(node.id) && node.id !== id);
  return { ...shown, nodes: [...rest, groupNode(nodes, id, name, kind)], edges: [...edges.values()] };
}

const RANKS = ["FAILED", "ABORTED", "LOST", "RUNNING", "NEW", "COMPLETED"];

/** States of nodes by precedence. */
const HEALTH: readonly LineageNode["health"]["state"][] = ["failed", "failed_checks", "blocked", "late", "unknown", "healthy", "streaming", "ad_hoc"];

function worstOf(members: readonly LineageNode[]): LineageNode["health"] {
  return members.map(({ health }) => health).reduce((a, b) => (HEALTH.indexOf(a.state) <= HEALTH.indexOf(b.state) ? a : b));
}

/** Build the node of a group; its run is the one with the worst state. */
function groupNode(members: readonly LineageNode[], id: NodeId, name: string, kind: "pipeline" | "chain"): JobNode {
  const jobs = members.filter((node) => node.type === "job");
  const runs = jobs.flatMap(({ run }) => (run ? [run] : []));
  const [run = null] = runs.toSorted((a, b) => RANKS.indexOf(a.state) - RANKS.indexOf(b.state));
  const { namespace = "", platform = null, pipeline = null, pipelineHealth = null } = jobs[0] ?? {};
  return {
    id, name, namespace, platform, run, type: "job", kind: "pipeline", owners: [], tags: [], health: (kind === "pipeline" ? pipelineHealth : null) ?? worstOf(members), up: 0, down: 0,
    pipeline: kind === "chain" ? pipeline : null,
    pipelineHealth: kind === "chain" ? pipelineHealth : null,
    group: { kind, jobs: jobs.length, datasets: members.length - jobs.length, members: members.map((node) => node.id) },
  }; // prettier-ignore
}
