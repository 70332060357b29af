import { useEffect, useState } from "react";

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
