import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** A part of the page's code did not come: the server is away, or has another build by now. */
export class ChunkLoadError extends Error {}

/** A view whose code comes when it is wanted. */
export function lazyView(load: () => Promise<{ default: ComponentType }>): LazyExoticComponent<ComponentType> {
  return lazy(() =>
    load().catch((cause: unknown) => {
      throw new ChunkLoadError(cause instanceof Error ? cause.message : String(cause), { cause });
    }),
  );
}
