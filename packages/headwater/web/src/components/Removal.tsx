import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { Answer } from "../api/client";
import { addressOf } from "../graph/view";
import { COMPONENTS } from "../strings/components";
import { Ago } from "./Ago";
import { Link } from "./Link";
import controls from "./controls.module.css";
import states from "./state.module.css";

export type Removal = NonNullable<Answer<"node">["removal"]>;

/** How a dataset was dropped, emptied or renamed, by which job, and when. */
export function RemovalState({ removal }: { removal: Removal }): ReactNode {
  const { kind, at, job, renamedTo } = removal;
  return (
    <>
      <RemovalMark removal={removal} />
      {kind === "renamed" && renamedTo && (
        <>
          {COMPONENTS.renamedTo}
          <Link className={clsx(controls.link, "wrap")} href={addressOf(renamedTo.id)}>
            {renamedTo.name}
          </Link>
        </>
      )}{" "}
      {job && <span className="wrap">{COMPONENTS.removedBy(job.name)}</span>} <span className="muted"><Ago at={at} /></span>
    </>
  );
}

/** The removal of a dataset in a list. */
export function RemovalMark({ removal }: { removal: Removal | null }): ReactNode {
  return removal && (
    <span className={clsx(states.state, states.warn)} title={titleOfRemoval(removal)}>
      {COMPONENTS.removals[removal.kind]}
    </span>
  );
}

/** Return a removal in one line: Renamed to X by JOB. */
export function titleOfRemoval({ kind, job, renamedTo, evidence }: Removal): string {
  const name = renamedTo ? `${COMPONENTS.renamedTo}${renamedTo.name}` : "";
  return `${COMPONENTS.removals[kind]}${name}${job ? ` ${COMPONENTS.removedBy(job.name)}` : ""}${evidence === "sql" ? COMPONENTS.readFromSql : ""}`;
}
