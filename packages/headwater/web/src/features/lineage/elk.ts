import ELK, { type ELK as Elk, type ElkNode } from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import { ONE_FILE } from "../../api/base";
import { UserFacingError } from "../../api/client";
import { ChunkLoadError } from "../../components/lazyView";

/** The worker's error, and the pending calls to reject; elk itself would wait forever. */
let workerError: ChunkLoadError | null = null;
const pending = new Set<(error: Error) => void>();

// The worker loads while the graph is requested.
const elk: Elk = new ELK({
  workerFactory: () => {
    const worker = new Worker(ONE_FILE?.worker ?? workerUrl);
    worker.onerror = ({ message }) => {
      workerError = new ChunkLoadError(message || `Failed to load ${workerUrl}`);
      for (const reject of pending) reject(workerError);
    };
    return worker;
  },
});

/**
 * Compute the positions of a graph's nodes.
 *
 * @throws ChunkLoadError if the worker failed to load. UserFacingError if elk rejected the graph.
 */
export async function layOut(graph: ElkNode): Promise<ElkNode> {
  if (workerError) throw workerError;
  let reject: (error: Error) => void = () => undefined;
  const failure = new Promise<never>((_resolve, rejectPromise) => {
    reject = rejectPromise;
    pending.add(reject);
  });
  const layout = elk.layout(graph).catch((error: unknown) => {
    throw new UserFacingError(`The graph could not be laid out: ${(error as Error).message}. Show less of it, or reload the page`);
  });
  return Promise.race([layout, failure]).finally(() => pending.delete(reject));
}
