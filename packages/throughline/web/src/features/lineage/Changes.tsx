import { useMemo, type ReactNode } from "react";
import { changesOf, type DiffAnswer } from "../../graph/difference";
import type { NodeId } from "../../graph/types";
import type { View } from "../../graph/view";
import { moment } from "../../graph/words";

const WORDS = { added: "New", removed: "Gone", changed: "Changed", failed: "Failed" };

/** What is different between the two moments, in the whole lineage; a click goes there. */
export function Changes({ told, view, change }: { told: DiffAnswer; view: View; change: (change: Partial<View>) => void }): ReactNode {
  const changes = useMemo(() => changesOf(told), [told]);
  return (
    <aside className="changes" aria-label="What is different">
      <div className="changes-head">
        <h2>What is different</h2>
        <p className="muted">
          {moment(view.from ?? "")} to {view.at ? moment(view.at) : "now"}, in the whole lineage
        </p>
      </div>
      {changes.length === 0 && <p className="waiting">Nothing.</p>}
      <ul>
        {changes.map((each) => (
          <li key={each.key}>
            <button type="button" onClick={() => change({ node: each.node, lit: each.node as NodeId, grown: [], folded: [], open: each.run ? `run:${each.run}` : null })}>
              <span className={`mark ${each.mark}`}>{WORDS[each.mark]}</span>
              <span className="clip" title={each.node}>
                {each.text}
              </span>
              {each.detail && <span className="detail">{each.detail}</span>}
            </button>
          </li>
        ))}
      </ul>
    </aside>
  );
}
