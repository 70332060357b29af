import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { columnOf } from "../../graph/lit";
import { impactOf, provenanceOf } from "../../graph/places";
import type { View } from "../../graph/view";

/** Links to the impact and the provenance of the node or the locked column. */
export function ViewLinks({ view }: { view: View }): ReactNode {
  const { node, at, level } = view;
  const [dataset, field] = view.column ? columnOf(view.column) : [null, null];
  return (
    <>
      <Link className="button" href={dataset ? impactOf(dataset, { field, at }) : impactOf(node, { level, at })} aria-label="Impact" title={field ? `Everything downstream of ${field}, by owner` : "Everything downstream, by owner"}>
        <Icon name="impact" /> <span className="words">Impact</span>
      </Link>
      {!node.startsWith("job:") && (
        <Link className="button" href={provenanceOf(dataset ?? node, { at })} aria-label="Provenance" title="Every upstream version, run and commit">
          <Icon name="origin" /> <span className="words">Provenance</span>
        </Link>
      )}
    </>
  );
}
