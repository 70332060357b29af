import type { ReactNode } from "react";
import { ago, moment } from "../graph/words";
import { useNow } from "./now";

/** How long ago something was, kept up to date; the exact moment on hovering. */
export function Ago({ at }: { at: string | null }): ReactNode {
  const seen = useNow();
  if (at === null) return <span className="muted">unknown</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, seen)}
    </time>
  );
}
