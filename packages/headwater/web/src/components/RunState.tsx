import { clsx } from "clsx";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";
import { COMPONENTS } from "../strings/components";
import states from "./state.module.css";

const LOOKS: Record<string, readonly [string, IconName]> = {
  COMPLETED: ["good", "done"],
  FAILED: ["bad", "fail"],
  ABORTED: ["bad", "fail"],
  RUNNING: ["run", "run"],
  NEW: ["run", "run"],
  LOST: ["warn", "lost"],
};

/** Return the label of a run's state. */
export function labelOfState(state: string): string {
  return COMPONENTS.states[state] ?? state;
}

/** The state of a run: color, icon and text. */
export function RunState({ state, className }: { state: string; className?: string | undefined }): ReactNode {
  const [tone, icon] = LOOKS[state] ?? ["", "lost"];
  return (
    <span className={clsx(states.state, states[tone], className)} title={state === "LOST" ? COMPONENTS.stale : undefined}>
      <Icon name={icon} />
      {labelOfState(state)}
    </span>
  );
}
