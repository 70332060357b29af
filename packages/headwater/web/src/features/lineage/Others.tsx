import { clsx } from "clsx";
import { useEffect, useId, useMemo, useRef, useState, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { HealthMark } from "../../components/HealthState";
import { Icon } from "../../components/Icon";
import { PlatformIcon } from "../../components/PlatformIcon";
import { Loading } from "../../components/Skeleton";
import { idsOf, otherGroups, OTHERS_BY, othersOf, type OtherGroup, type OthersBy } from "../../graph/others";
import type { NodeId } from "../../graph/types";
import { type Grip, parseGrip } from "../../graph/grips";
import { type View } from "../../graph/view";
import { nameOf, parts } from "../../graph/words";
import { NODE } from "../../strings/lineage";
import { COMPONENTS } from "../../strings/components";
import { OTHERS } from "../../strings/others";
import styles from "./others.module.css";
import controls from "../../components/controls.module.css";

const FIRST = 20;

interface Props {
  of: Grip;
  view: View;
  shown: ReadonlySet<string>;
  pick: (nodes: readonly NodeId[]) => void;
  showAll: () => void;
  close: () => void;
}

/** The collapsed neighbors of a node, with a search and in groups; a click shows one, a group or all of them. */
export default function Others({ of, view, shown, pick: add, showAll, close }: Props): ReactNode {
  const [by, setBy] = useState<OthersBy>("owner");
  const [text, setText] = useState("");
  const title = useId();
  const search = useRef<HTMLInputElement>(null);
  const [side, node] = parseGrip(of);
  const { level, datasetsOnly, at } = view;
  const { data } = useAnswer("graph", { node, level, up: 0, down: 0, [side]: 1, datasets: datasetsOnly ? true : undefined, asOf: at ?? undefined });
  const nodes = useMemo(() => (data ? othersOf(data, side, shown) : []), [data, side, shown]);
  const groups = useMemo(() => otherGroups(nodes, by, text), [nodes, by, text]);
  useEffect(() => search.current?.focus(), []);
  const pick = (picked: readonly NodeId[]) => {
    add(picked);
    search.current?.focus(); // the clicked button disappears
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it
    <section className={styles.others} aria-labelledby={title} onKeyDown={(event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
    }}>
      <header className={styles.head}>
        <h2 id={title} className="wrap">{OTHERS.title(nodes.length, NODE.side[side], parts(nameOf(node), node.startsWith("job:") ? "job" : "dataset").title)}</h2>
        <button type="button" className={clsx(controls.button, controls.bare, controls.square)} onClick={close} aria-label={OTHERS.close} title={OTHERS.close}>
          <Icon name="close" />
        </button>
      </header>
      <input ref={search} className={controls.field} type="search" value={text} placeholder={OTHERS.search} aria-label={OTHERS.search} onChange={(event) => setText(event.target.value)} />
      <div className={controls.segments} role="group" aria-label={OTHERS.by}>
        {OTHERS_BY.map((choice) => (
          <button key={choice} type="button" aria-pressed={by === choice} onClick={() => setBy(choice)}>
            {OTHERS.groupings[choice]}
          </button>
        ))}
      </div>
      {!data && <Loading />}
      {data && groups.length === 0 && <p className="muted">{OTHERS.noMatches}</p>}
      <div className={styles.groups}>
        {groups.map((group) => (
          <Group key={group.key} group={group} name={group.key || OTHERS.none[by]} pick={pick} />
        ))}
      </div>
      <button type="button" className={controls.button} onClick={showAll}>
        {OTHERS.showAll(nodes.length)}
      </button>
    </section>
  );
}

function Group({ group: { nodes }, name, pick }: { group: OtherGroup; name: string; pick: Props["pick"] }): ReactNode {
  const [isAll, setAll] = useState(false);
  return (
    <section aria-label={name}>
      <h3 className={styles.group}>
        <span className="clip" title={name}>{name}</span>
        <button type="button" className={controls.link} onClick={() => pick(idsOf(nodes))} aria-label={OTHERS.showGroup(nodes.length, name)}>
          {OTHERS.showAll(nodes.length)}
        </button>
      </h3>
      <ul>
        {(isAll ? nodes : nodes.slice(0, FIRST)).map((node) => (
          <li key={node.id}>
            <button type="button" className={styles.node} onClick={() => pick(idsOf([node]))} title={`${node.name}\n${node.namespace}`} aria-label={OTHERS.show(node.name)}>
              <PlatformIcon node={node} />
              <span className="clip">{parts(node.name, node.type).title}</span>
              <HealthMark health={node.health} />
            </button>
          </li>
        ))}
      </ul>
      {!isAll && nodes.length > FIRST && (
        <button type="button" className={controls.link} onClick={() => setAll(true)}>
          {COMPONENTS.showMore(nodes.length - FIRST)}
        </button>
      )}
    </section>
  );
}
