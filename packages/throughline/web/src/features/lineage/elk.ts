import ELK, { type ELK as Elk, type ElkNode } from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import { EMBEDDED } from "../../api/base";
import { ToldError } from "../../api/client";
import { PartError } from "../../components/part";

/** The worker's error and its waiting callers; elk itself would wait forever. */
let broken: PartError | null = null;
const waiting = new Set<(why: Error) => void>();

// It loads while the graph is requested.
const elk: Elk = new ELK({
  workerFactory: () => {
    const worker = new Worker(EMBEDDED?.worker ?? workerUrl);
    worker.onerror = ({ message }) => {
      broken = new PartError(message || `Failed to load ${workerUrl}`);
      for (const give of waiting) give(broken);
    };
    return worker;
  },
});

/**
 * Find the places of a graph's nodes.
 *
 * @throws PartError there is no worker. ToldError elk refused the graph.
 */
export async function layOut(graph: ElkNode): Promise<ElkNode> {
  if (broken) throw broken;
  let give: (why: Error) => void = () => undefined;
  const lost = new Promise<never>((_done, refuse) => {
    give = refuse;
    waiting.add(give);
  });
  const laid = elk.layout(graph).catch((error: unknown) => {
    throw new ToldError(`The graph could not be laid out: ${(error as Error).message}. Show less of it, or reload the page`);
  });
  return Promise.race([laid, lost]).finally(() => waiting.delete(give));
}
