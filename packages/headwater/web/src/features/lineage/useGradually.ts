import type { Edge } from "@xyflow/react";
import { useEffect, useState } from "react";
import type { FlowNode } from "./flow";

/** The minimum number of nodes to add per frame; large graphs add a fifteenth. */
const LEAST = 24;

/** Return the number of nodes to draw, increased every frame so that the page stays responsive. */
export function useGradually(all: number): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (count >= all) return undefined;
    const frame = requestAnimationFrame(() => setCount(count + Math.max(LEAST, Math.ceil(all / 15))));
    return () => cancelAnimationFrame(frame);
  }, [count, all]);
  return count;
}

/** Return the first nodes, and the edges between them. */
export function firstOf(nodes: readonly FlowNode[], edges: readonly Edge[], count: number): { nodes: FlowNode[]; edges: Edge[] } {
  const first = nodes.slice(0, count);
  const ids = new Set(first.map((node) => node.id));
  return { nodes: first, edges: edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target)) };
}
