import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** A failed load of the page's code: the server is unavailable or has a new build. */
export class ChunkLoadError extends Error {}

/** Return a view whose code is loaded on first use. */
export function lazyView(load: () => Promise<{ default: ComponentType }>): LazyExoticComponent<ComponentType> {
  return lazy(() =>
    load().catch((cause: unknown) => {
      throw new ChunkLoadError(cause instanceof Error ? cause.message : String(cause), { cause });
    }),
  );
}
