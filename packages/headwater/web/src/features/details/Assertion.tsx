import { clsx } from "clsx";
import type { ReactNode } from "react";
import { Icon, type IconName } from "../../components/Icon";
import { resultOf, type AssertionResult } from "../../graph/assertion";
import { DETAILS } from "../../strings/details";
import states from "../../components/state.module.css";

const TONES: Record<AssertionResult, string | undefined> = { passed: states["good"], warned: undefined, failed: states["bad"], notRun: "muted" };
const ICONS: Record<AssertionResult, IconName> = { passed: "done", warned: "fail", failed: "fail", notRun: "lost" };

/** The result of an assertion; with `isLabeled`, as a visible text. */
export function Assertion({ assertion, isLabeled = false }: { assertion: Readonly<Record<string, unknown>>; isLabeled?: boolean }): ReactNode {
  const result = resultOf(assertion);
  const isPlain = result === "passed" || result === "failed"; // said by the icon
  return (
    <span className={clsx(states["state"], TONES[result])}>
      <Icon name={ICONS[result]} />
      <span className="wrap">{[assertion["assertion"], assertion["column"]].filter(Boolean).join(" ")}</span>
      <span className={isPlain && !isLabeled ? "hidden" : "muted"}>{isLabeled || isPlain ? DETAILS[result] : `(${DETAILS[result]})`}</span>
    </span>
  );
}
