import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { Answer } from "../api/client";
import { COMPONENTS } from "../strings/components";
import { Ago } from "./Ago";
import { Icon, type IconName } from "./Icon";
import states from "./state.module.css";

export type Health = Answer<"node">["health"];

const LOOKS: Record<Health["state"], readonly [string, IconName]> = {
  failed: ["bad", "fail"],
  failed_checks: ["bad", "alert"],
  blocked: ["bad", "minus"],
  late: ["warn", "clock"],
  unknown: ["", "lost"],
  healthy: ["good", "done"],
  streaming: ["good", "stream"],
  ad_hoc: ["", "task"],
};
const WRONG: readonly string[] = ["failed", "failed_checks", "blocked", "late"];

/** The state of a node, with the reason as a tooltip. */
export function HealthLabel({ health }: { health: Health }): ReactNode {
  return <Label health={health} title={health.message} />;
}

function Label({ health, title }: { health: Health; title?: string }): ReactNode {
  const [tone, icon] = LOOKS[health.state];
  return (
    <span className={clsx(states.state, states[tone])} title={title}>
      <Icon name={icon} />
      {COMPONENTS.health[health.state]}
    </span>
  );
}

/** The state of a node with its reason and time. */
export function HealthState({ health }: { health: Health }): ReactNode {
  return (
    <>
      <Label health={health} />
      {health.state === "streaming" ? ", " : " "}
      <span className="wrap">{health.message}</span> {health.at && <span className="muted"><Ago at={health.at} /></span>}
    </>
  );
}

/** The state of a node in a list, if something is wrong. */
export function HealthMark({ health }: { health: Health }): ReactNode {
  return WRONG.includes(health.state) && <HealthLabel health={health} />;
}
