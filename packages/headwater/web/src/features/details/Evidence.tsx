import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import type { Answer } from "../../api/client";
import { Ago } from "../../components/Ago";
import { Link } from "../../components/Link";
import { formatView, type View } from "../../graph/view";
import { parts } from "../../graph/words";
import { COMPONENTS } from "../../strings/components";
import { EVIDENCE } from "../../strings/details";
import styles from "./evidence.module.css";
import controls from "../../components/controls.module.css";
import states from "../../components/state.module.css";

type Edge = NonNullable<Answer<"tree">["up"]>["children"][number];
type Grade = keyof typeof EVIDENCE.grades;

/** Grades, those to check first. */
const GRADES = Object.keys(EVIDENCE.grades) as Grade[];
const FIRST = 12;

/** The edges of a node to its neighbors, with the grade of their evidence and the sources that state them. */
export function Evidence({ id, view }: { id: string; view: View }): ReactNode {
  const { data } = useAnswer("tree", { node: id, direction: "both", depth: 1, level: view.level, asOf: view.at });
  const [isAll, setAll] = useState(false);
  if (data?.node !== id) return null;
  const edges = (["up", "down"] as const).flatMap((side) => (data[side]?.children ?? []).flatMap((edge) => (edge.grade ? [{ side, edge, grade: edge.grade }] : [])));
  if (edges.length === 0) return null;
  const sorted = edges.toSorted((a, b) => GRADES.indexOf(a.grade) - GRADES.indexOf(b.grade));
  return (
    <section aria-label={EVIDENCE.title}>
      <h3>
        {EVIDENCE.title} <span className="muted">{edges.length}</span>
      </h3>
      <ul className={styles.edges}>
        {(isAll ? sorted : sorted.slice(0, FIRST)).map(({ side, edge, grade }) => (
          <li key={`${side} ${edge.id}`}>
            <span className={clsx(styles.grade, states[EVIDENCE.tones[grade]])} title={EVIDENCE.about[grade]}>
              {EVIDENCE.grades[grade]}
            </span>
            <span className="wrap">
              <span className="muted">{EVIDENCE.sides[side]}</span>{" "}
              <Link className={controls.link} href={formatView({ ...view, open: edge.id, tab: null })} title={edge.name}>
                {parts(edge.name, edge.type).title}
              </Link>
              <Source edge={edge} />
            </span>
          </li>
        ))}
      </ul>
      {!isAll && sorted.length > FIRST && (
        <button type="button" className={controls.link} onClick={() => setAll(true)}>
          {COMPONENTS.showMore(sorted.length - FIRST)}
        </button>
      )}
    </section>
  );
}

function Source({ edge: { statedBy, seen } }: { edge: Edge }): ReactNode {
  const texts = statedBy.map(({ kind, producer }) => `${EVIDENCE.kinds[kind]}${producer ? ` (${producer})` : ""}`);
  return (
    <span className={clsx("muted", styles.source)}>
      {texts.join(", ")}
      {seen && (
        <>
          {texts.length > 0 && " · "}
          {EVIDENCE.seen} <Ago at={seen.last} />
        </>
      )}
    </span>
  );
}
