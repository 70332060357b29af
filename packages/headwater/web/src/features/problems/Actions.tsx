import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import type { FindingChange } from "../../api/client";
import { Menu } from "../../components/Menu";
import { present } from "../../components/now";
import { moment } from "../../graph/words";
import { START } from "../../strings/start";
import styles from "./actions.module.css";
import controls from "../../components/controls.module.css";

/** Changes the state of the findings of a menu. */
export type Decide = (change: Pick<FindingChange, "state" | "until" | "note">) => void;

interface Decided {
  state: FindingChange["state"];
  note: string | null;
  mutedUntil: string | null;
}

const DAY = 86_400_000;

/** Return the state and the note of a muted or acknowledged problem. */
export function stateOf({ state, mutedUntil, note }: Decided): string {
  const text = state === "muted" ? START.mutedUntil(mutedUntil && moment(mutedUntil)) : START.acknowledged;
  return note ? `${note} · ${text}` : text;
}

/** The menu that mutes or acknowledges an open problem; a button that reopens others. */
export function Actions({ finding, name, decide }: { finding: Decided; name: string; decide: Decide }): ReactNode {
  if (finding.state !== "open") {
    return (
      <button type="button" className={clsx(controls.button, controls.bare)} aria-label={START.reopenOf(name)} onClick={() => decide({ state: "open" })}>
        {START.reopen}
      </button>
    );
  }
  return <DecideMenu text={START.actions(name)} decide={decide} isBare />;
}

/** The menu that mutes or acknowledges problems, with a note. */
export function DecideMenu({ text, decide, isBare = false, isDisabled = false }: { text: string; decide: Decide; isBare?: boolean; isDisabled?: boolean }): ReactNode {
  const [typed, setTyped] = useState("");
  const note = typed.trim() || null;
  const [acknowledge, whileSame] = START.acknowledge;
  const choices = [
    { text: acknowledge, about: whileSame, act: () => decide({ state: "acknowledged", note }) },
    ...START.mute.map(([choice, days]) => {
      const until = days && new Date(present() + days * DAY).toISOString();
      const about = until ? START.until.day(moment(until).slice(0, 10)) : START.until.none;
      return { text: choice, about, act: () => decide({ state: "muted", until, note }) };
    }),
  ];
  return (
    <Menu icon="dots" text={text} title={text} choices={choices} isBare={isBare} isDisabled={isDisabled}>
      <input className={styles["note"]} value={typed} placeholder={START.note} aria-label={START.note} maxLength={1_000} onChange={(event) => setTyped(event.target.value)} />
    </Menu>
  );
}
