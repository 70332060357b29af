import { csvText } from "./tags";
import type { Graph, NodeId } from "./types";
import type { View } from "./view";
import type { Shown } from "./visible";

/** Export the shown graph as a Mermaid flowchart; dotted lines are control edges. */
export function mermaidOf({ nodes, edges }: Shown): string {
  const numbers = new Map(nodes.map((node, place) => [node.id, `n${place}`]));
  const number = (id: NodeId) => String(numbers.get(id));
  const label = (name: string) => name.replaceAll("&", "#amp;").replaceAll('"', "#quot;").replaceAll("<", "#lt;");
  const lines = [
    ...nodes.map((node) => `${number(node.id)}${node.type === "job" ? `["${label(node.name)}"]` : `[("${label(node.name)}")]`}`),
    ...edges.map(({ from, to, kind }) => `${number(from)} ${kind === "data" ? "-->" : "-.->"} ${number(to)}`),
  ];
  return ["flowchart LR", ...lines.map((line) => `  ${line}`), ""].join("\n");
}

/** Export the shown graph as JSON: nodes and edges as in /api/v2/graph, and their column edges. */
export function jsonOf(shown: Shown, graph: Graph, view: View): string {
  const ids = new Set<string>(shown.nodes.map((node) => node.id));
  const columns = graph.columns.filter(({ from, to }) => ids.has(from.id) && ids.has(to.id));
  const about = { node: view.node, level: view.level, asOf: view.at, from: view.from };
  return JSON.stringify({ ...about, nodes: shown.nodes, edges: shown.edges, columns }, null, 2);
}

/** Export the shown nodes as CSV, one per line, with their upstream and downstream nodes. */
export function csvOf({ nodes, edges }: Shown): string {
  const data = edges.filter((edge) => edge.kind === "data");
  const rows = nodes.map(({ id, type, kind, namespace, name, owners, tags, health }) => {
    const up = data.filter((edge) => edge.to === id).map((edge) => edge.from);
    const down = data.filter((edge) => edge.from === id).map((edge) => edge.to);
    return [type, kind, namespace, name, health.state, owners.join(", "), tags.join(", "), up.join("\n"), down.join("\n")];
  });
  return csvText([["type", "kind", "namespace", "name", "state", "owners", "tags", "upstream", "downstream"], ...rows]);
}

/** Return a file name for an export of a node's graph: `lineage-trips-2026-01-02`. */
export function fileName(node: string, at: string): string {
  const title = node.slice(Math.max(...[":", "/"].map((mark) => node.lastIndexOf(mark))) + 1);
  return `lineage-${title.replace(/[^\w.-]+/g, "_")}-${at.slice(0, 10)}`;
}
