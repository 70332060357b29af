import { useEffect, useState } from "react";

/** As many nodes as a frame has room for; of a large graph, most of which is out of the window, a fifteenth. */
const LEAST = 24;

/** How many of so many nodes are drawn: more in each frame, so that none keeps clicks and keys waiting. */
export function useGradually(all: number): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (count >= all) return undefined;
    const frame = requestAnimationFrame(() => setCount(count + Math.max(LEAST, Math.ceil(all / 15))));
    return () => cancelAnimationFrame(frame);
  }, [count, all]);
  return count;
}
