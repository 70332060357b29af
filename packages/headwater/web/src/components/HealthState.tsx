import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { Answer } from "../api/client";
import { COMPONENTS } from "../strings/components";
import { Ago } from "./Ago";
import { isProblem } from "../graph/state";
import { ago, parts } from "../graph/words";
import { Icon, type IconName } from "./Icon";
import { useShownTime } from "./now";
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

/** Start of the reason of a view or an exposure, which are not built themselves. */
const OLD_DATA = "shows data from before ";

/** The state of a node, with the reason as a tooltip; `isShort` omits the node that failed. */
export function HealthLabel({ health, isShort = false }: { health: Health; isShort?: boolean }): ReactNode {
  return <Label health={isShort ? { ...health, by: [] } : health} title={health.message} />;
}

function Label({ health, title }: { health: Health; title?: string }): ReactNode {
  const [tone, icon] = LOOKS[health.state];
  const time = useShownTime();
  return (
    <span className={clsx(states.state, states[tone])} title={title}>
      <Icon name={icon} />
      <span className="clip">{labelOf(health, time)}</span>
    </span>
  );
}

/** Return the state in words, with the node that failed or how long it was late at a time, if that is known. */
function labelOf({ state, message, by: [cause], at }: Health, time: number): string {
  const isOld = state === "blocked" && message.startsWith(OLD_DATA);
  if (state === "blocked" && cause) return (isOld ? COMPONENTS.oldDataOf : COMPONENTS.notRebuilt)(parts(cause.name, cause.type).title, cause.type);
  if (isOld) return COMPONENTS.oldData;
  const label = COMPONENTS.health[state];
  return state === "late" && at && !Number.isNaN(time) ? `${label} ${ago(at, time).replace(/ ago$/, "")}` : label;
}

/** The state of a node with its reason and time. */
export function HealthState({ health }: { health: Health }): ReactNode {
  const { message } = health;
  const isSaid = health.state === "blocked" && (message.startsWith("not written since ") || message.startsWith(OLD_DATA)); // the label names the failed node
  return (
    <>
      <Label health={health} />
      {!isSaid && <span className="wrap">, {message}</span>} {health.at && <span className="muted"><Ago at={health.at} /></span>}
    </>
  );
}

/** The state of a node in a list, if something is wrong. */
export function HealthMark({ health }: { health: Health }): ReactNode {
  return isProblem(health) && <HealthLabel health={health} />;
}
