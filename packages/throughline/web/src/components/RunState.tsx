import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

const LOOKS: Record<string, readonly [string, IconName, string]> = {
  COMPLETED: ["good", "done", "Completed"],
  FAILED: ["bad", "fail", "Failed"],
  ABORTED: ["bad", "fail", "Aborted"],
  RUNNING: ["run", "run", "Running"],
  NEW: ["run", "run", "Started"],
  LOST: ["warn", "lost", "Lost"],
};

/** How a run stands: colour, icon and word. */
export function RunState({ state }: { state: string }): ReactNode {
  const [tone, icon, word] = LOOKS[state] ?? ["", "lost", state];
  return (
    <span className={`state ${tone}`} title={state === "LOST" ? "No end was told, and nothing was heard of it for long" : undefined}>
      <Icon name={icon} />
      {word}
    </span>
  );
}
