import { clsx } from "clsx";
import { useMemo, useState, type ReactNode } from "react";
import { Icon, type IconName } from "../../components/Icon";
import { changeGroups, changesOf, type Change, type ChangeGroup, type DiffAnswer } from "../../graph/difference";
import type { NodeId } from "../../graph/types";
import type { View } from "../../graph/view";
import { moment } from "../../graph/words";
import { TIME } from "../../strings/time";
import styles from "./changes.module.css";
import messages from "../../components/message.module.css";
import controls from "../../components/controls.module.css";
import marks from "./mark.module.css";

/** A change of the view that brings some nodes into the window. */
export type Show = (change: Partial<View>, ends: readonly string[]) => void;

/** Return the view that shows a change; schema changes open the columns. */
function viewOf({ node, run, isSchema }: Change): Partial<View> {
  const id = node as NodeId;
  return { node, lit: isSchema ? null : id, grown: [], folded: [], picks: [], open: run ? `run:${run}` : null, ...(isSchema ? { columns: [id], column: null } : {}) };
}

/** The differences between two times in the whole lineage, by dataset and job. A click shows one in the graph. */
export function Changes({ diff, view, show }: { diff: DiffAnswer; view: View; show: Show }): ReactNode {
  const sections = useMemo(() => changeGroups(changesOf(diff)), [diff]);
  return (
    <aside className={clsx(styles.changes, view.node && styles.aboveGraph)} aria-label={TIME.differences}>
      <div className={styles.changesHead}>
        <h2>{TIME.differences}</h2>
        <p className="muted">{TIME.inAll(moment(view.from ?? ""), TIME.until(view.at && moment(view.at)))}</p>
      </div>
      {sections.length === 0 && <p className={messages.waiting}>{TIME.noDifferences}</p>}
      {sections.map(({ type, groups }) => (
        <section key={type} aria-label={TIME[type]}>
          <h3 className={styles.section}>
            {TIME[type]} {groups.length}
          </h3>
          <ul>
            {groups.map((group) => (
              <Group key={group.node} group={group} show={show} />
            ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}

/** All changes of a dataset or job. Failed runs after the first are collapsed. */
function Group({ group: { node, kind, text, above, changes }, show }: { group: ChangeGroup; show: Show }): ReactNode {
  const [isAll, setAll] = useState(false);
  const hidden = changes.filter((change) => change.mark === "failed").slice(1);
  const shown = isAll ? changes : changes.filter((change) => !hidden.includes(change));
  return (
    <li className={styles.group}>
      <h4 className={styles.name} title={node}>
        <Icon name={kind as IconName} />
        <span className="hidden">{kind}</span>
        {text}
        {above && <span className="muted">{` ${above}`}</span>}
      </h4>
      <ul aria-label={text}>
        {shown.map((change) => (
          <li key={change.key}>
            <button type="button" className={styles.change} onClick={() => show(viewOf(change), change.ends)}>
              <span className="hidden">{TIME.prefix(text)}</span>
              <span className={clsx(marks.mark, marks[change.mark])}>{TIME.marks[change.mark]}</span>
              <span className={styles.detail}>{change.detail}</span>
            </button>
          </li>
        ))}
      </ul>
      {hidden.length > 0 && !isAll && (
        <p className={styles.more}>
          <button type="button" className={controls.link} onClick={() => setAll(true)}>
            {TIME.moreFailures(hidden.length)}
          </button>
        </p>
      )}
    </li>
  );
}
