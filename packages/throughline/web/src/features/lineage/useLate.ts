import { useMemo } from "react";
import { useAnswer } from "../../api/answers";

/** The ids of jobs that are late at present. */
export function useLate(at: string | null): ReadonlySet<string> {
  const { data } = useAnswer("health", at === null ? {} : null);
  const findings = at === null ? (data?.findings ?? []) : [];
  const ids = findings.filter(({ kind }) => kind === "late").map(({ subject }) => subject).join("\n");
  return useMemo(() => new Set(ids.split("\n")), [ids]);
}
