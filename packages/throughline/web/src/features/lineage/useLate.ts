import { useMemo } from "react";
import { useAnswer } from "../../api/answers";

/** The ids of jobs that are late at present. */
export function useLate(at: string | null): ReadonlySet<string> {
  const { data } = useAnswer("health", at === null ? {} : null);
  const ids = at === null ? (data?.late ?? []).map(({ job }) => `job:${job.namespace}:${job.name}`).join("\n") : "";
  return useMemo(() => new Set(ids.split("\n")), [ids]);
}
