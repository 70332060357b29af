import { useMemo } from "react";
import { useAnswer } from "../../api/answers";

/** Return the ids of jobs that are late now; empty for past times. */
export function useLate(at: string | null): ReadonlySet<string> {
  const { data } = useAnswer("findings", at === null ? { kind: "late" } : null);
  const findings = at === null ? (data?.items ?? []) : [];
  const ids = findings.map(({ subject }) => subject).join("\n");
  return useMemo(() => new Set(ids.split("\n")), [ids]);
}
