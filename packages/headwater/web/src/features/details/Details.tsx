import { clsx } from "clsx";
import { useEffect, useRef, type CSSProperties, type ReactNode } from "react";
import { Icon } from "../../components/Icon";
import { focusNode, LIT_NODE, ROOT_NODE } from "../../components/focus";
import { columnOf } from "../../graph/lit";
import { ColumnDetails } from "./ColumnDetails";
import { NodeDetails } from "./NodeDetails";
import { DETAILS } from "../../strings/details";
import type { DetailsProps } from "./props";
import { Resize, useWidth } from "./Resize";
import { RunDetails } from "./RunDetails";
import details from "./details.module.css";
import controls from "../../components/controls.module.css";

const WIDTHS = { initial: window.innerWidth >= 2400 ? 560 : 440, least: 320, most: 960 };

/** Details of a dataset, a column, a job or a run, beside the graph. */
export function Details({ view, change }: DetailsProps): ReactNode {
  const panel = useRef<HTMLElement>(null);
  const [width, setWidth] = useWidth("details-width", WIDTHS);
  const open = view.open ?? "";
  useEffect(() => panel.current?.focus({ preventScroll: true }), []);
  // Closing the details returns the focus to their node.
  useEffect(
    () => () => {
      if (document.activeElement !== document.body) return;
      const id = open.startsWith("column:") ? columnOf(open)[0] : open;
      focusNode(`[data-node="${CSS.escape(id)}"]`, LIT_NODE, ROOT_NODE);
    },
    [open],
  );
  return (
    <aside className={details.details} aria-label={DETAILS.label} tabIndex={-1} ref={panel} style={{ "--details-width": `${width}px` } as CSSProperties}>
      <span className={details.resize}>
        <Resize label={DETAILS.resize} width={width} change={setWidth} {...WIDTHS} isRight />
      </span>
      <button type="button" className={clsx(controls.button, controls.bare, controls.square, details.close)} onClick={() => change({ open: null, tab: null })} aria-label={DETAILS.close} title={DETAILS.closeTitle}>
        <Icon name="close" />
      </button>
      <Content id={open} view={view} change={change} />
    </aside>
  );
}

function Content({ id, ...others }: DetailsProps & { id: string }): ReactNode {
  if (id.startsWith("run:")) return <RunDetails id={id.slice(4)} {...others} />;
  if (id.startsWith("column:")) return <ColumnDetails id={id} {...others} />;
  return <NodeDetails id={id} {...others} />;
}
