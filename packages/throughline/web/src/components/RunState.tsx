import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

const LOOKS: Record<string, readonly [string, IconName, string]> = {
  COMPLETED: ["good", "done", "Completed"],
  FAILED: ["bad", "fail", "Failed"],
  ABORTED: ["bad", "fail", "Aborted"],
  RUNNING: ["run", "run", "Running"],
  NEW: ["run", "run", "Started"],
  LOST: ["warn", "lost", "No end event"],
};

/** Return the label of a run's state. */
export function labelOfState(state: string): string {
  return LOOKS[state]?.[2] ?? state;
}

/** The state of a run: colour, icon and text. */
export function RunState({ state }: { state: string }): ReactNode {
  const [tone, icon, word] = LOOKS[state] ?? ["", "lost", state];
  return (
    <span className={`state ${tone}`} title={state === "LOST" ? "Stale run: no end event and no recent events" : undefined}>
      <Icon name={icon} />
      {word}
    </span>
  );
}
