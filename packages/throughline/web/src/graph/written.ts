import type { Graph, NodeId } from "./types";
import type { View } from "./view";
import type { Shown } from "./visible";

/** What is shown as a Mermaid flowchart, for Markdown; dotted lines are control. */
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

/** The shown graph as JSON: nodes and edges as in /api/v2/graph, with expanded columns. */
export function jsonOf(shown: Shown, graph: Graph, view: View): string {
  const ids = new Set<string>(shown.nodes.map((node) => node.id));
  const columns = graph.columns.filter(({ from, to }) => ids.has(from.id) && ids.has(to.id));
  const about = { node: view.node, level: view.level, asOf: view.at, from: view.from };
  return JSON.stringify({ ...about, nodes: shown.nodes, edges: shown.edges, columns }, null, 2);
}

/** `lineage-trips-2026-01-02` of a node, as a file may be called. */
export function fileName(node: string, at: string): string {
  const title = node.slice(Math.max(...[":", "/"].map((mark) => node.lastIndexOf(mark))) + 1);
  return `lineage-${title.replace(/[^\w.-]+/g, "_")}-${at.slice(0, 10)}`;
}
