import { useAnswer } from "../../api/answers";

/** Return the end time of the last successful run of a job or of a dataset's writers; null if unknown. */
export function useLastSuccess(node: string): string | null {
  const isJob = node.startsWith("job:");
  const { data: runs } = useAnswer("runs", isJob ? { job: node, condition: "COMPLETED", limit: 1 } : null);
  const { data: history } = useAnswer("history", node && !isJob ? { node, limit: 100 } : null);
  const written = history?.items.flatMap((entry) => (entry.done === "wrote" && entry.run.state === "COMPLETED" ? [entry.run] : []));
  return (isJob ? runs?.items : written)?.[0]?.endedAt ?? null;
}
