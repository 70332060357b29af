import { useMemo, type ReactNode } from "react";
import { Icon, type IconName } from "../../components/Icon";
import { changesOf, type Change, type DiffAnswer } from "../../graph/difference";
import type { NodeId } from "../../graph/types";
import type { View } from "../../graph/view";
import { moment } from "../../graph/words";
import { MARKS } from "./marks";

const WORDS = { ...MARKS, failed: "Failed" };

/** Where a change is seen: of a schema, in the columns. */
function placeOf({ node, run, isSchema }: Change): Partial<View> {
  const id = node as NodeId;
  return { node, lit: isSchema ? null : id, grown: [], folded: [], open: run ? `run:${run}` : null, ...(isSchema ? { columns: [id], column: null } : {}) };
}

/** What is different between the two moments, in the whole lineage; a click goes there. */
export function Changes({ told, view, change }: { told: DiffAnswer; view: View; change: (change: Partial<View>) => void }): ReactNode {
  const changes = useMemo(() => changesOf(told), [told]);
  return (
    <aside className="changes" aria-label="Differences">
      <div className="changes-head">
        <h2>Differences</h2>
        <p className="muted">
          {moment(view.from ?? "")} to {view.at ? moment(view.at) : "now"}, in the whole lineage
        </p>
      </div>
      {changes.length === 0 && <p className="waiting">No differences.</p>}
      <ul>
        {changes.map((each) => (
          <li key={each.key}>
            <button type="button" onClick={() => change(placeOf(each))}>
              <span className={`mark ${each.mark}`}>{WORDS[each.mark]}</span>
              <span className="changes-name" title={each.node}>
                <Icon name={each.kind as IconName} />
                <span className="hidden">{each.kind}</span>
                <span className="wrap">{each.text}</span>
              </span>
              {each.detail && <span className="detail">{each.detail}</span>}
            </button>
          </li>
        ))}
      </ul>
    </aside>
  );
}
