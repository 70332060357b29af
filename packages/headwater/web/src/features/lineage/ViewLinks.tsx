import type { ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { columnOf } from "../../graph/lit";
import { impactOf, provenanceOf } from "../../graph/places";
import type { View } from "../../graph/view";
import { COMPONENTS } from "../../strings/components";
import { TOOLBAR } from "../../strings/lineage";
import controls from "../../components/controls.module.css";

/** Links to the impact and the provenance of the node or the locked column. */
export function ViewLinks({ view }: { view: View }): ReactNode {
  const { node, at, level } = view;
  const [dataset, field] = view.column ? columnOf(view.column) : [null, null];
  return (
    <>
      <Link className={controls.button} href={dataset ? impactOf(dataset, { field, at }) : impactOf(node, { level, at })} aria-label={COMPONENTS.impact} title={TOOLBAR.impactAbout(field)}>
        <Icon name="impact" /> <span className={controls.words}>{COMPONENTS.impact}</span>
      </Link>
      {!node.startsWith("job:") && (
        <Link className={controls.button} href={provenanceOf(dataset ?? node, { at })} aria-label={COMPONENTS.provenance} title={TOOLBAR.provenanceAbout}>
          <Icon name="origin" /> <span className={controls.words}>{COMPONENTS.provenance}</span>
        </Link>
      )}
    </>
  );
}
