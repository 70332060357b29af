import type { Viewport } from "./layout";

type Follow = (viewport: Viewport) => void;

/** A viewport shared by several graphs: the graph that moves notifies the others. */
export interface SharedViewport {
  join: (follow: Follow) => () => void;
  notify: (viewport: Viewport, by: Follow) => void;
}

export function sharedViewport(): SharedViewport {
  const all = new Set<Follow>();
  return {
    join: (follow) => {
      all.add(follow);
      return () => all.delete(follow);
    },
    notify: (viewport, by) => {
      for (const follow of all) if (follow !== by) follow(viewport);
    },
  };
}

/** Return true if two viewports are equal to the pixel, so that graphs do not move each other endlessly. */
export function isSame(a: Viewport, b: Viewport): boolean {
  return Math.abs(a.x - b.x) < 0.5 && Math.abs(a.y - b.y) < 0.5 && Math.abs(a.zoom - b.zoom) < 0.001;
}
