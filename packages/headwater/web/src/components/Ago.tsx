import type { ReactNode } from "react";
import { ago, moment } from "../graph/words";
import { useNow } from "./now";
import { COMPONENTS } from "../strings/components";

/** The age of a time, kept up to date, with the exact time as a tooltip. */
export function Ago({ at }: { at: string | null }): ReactNode {
  const now = useNow();
  if (at === null) return <span className="muted">{COMPONENTS.unknownTime}</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, now)}
    </time>
  );
}
