import { useDismiss, useFloatingRootContext } from "@floating-ui/react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import styles from "./tip.module.css";

const MARGIN = 8;

/** A tooltip with the title of the focused control. Browsers show titles only on hover. */
export function Tip(): ReactNode {
  const [control, setControl] = useState<Element | null>(null);
  const bubble = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const hide = () => setControl(null);
    const show = ({ target }: Event) => setControl(target instanceof Element && target.matches("[title]:focus-visible") ? target : null);
    const handlers = { focusin: show, focusout: hide, pointerdown: hide };
    for (const [name, act] of Object.entries(handlers)) window.addEventListener(name, act, true);
    return () => {
      for (const [name, act] of Object.entries(handlers)) window.removeEventListener(name, act, true);
    };
  }, []);
  const elements = useMemo(() => ({ reference: control, floating: null }), [control]);
  const context = useFloatingRootContext({ open: control !== null, onOpenChange: () => setControl(null), elements });
  useDismiss(context, { ancestorScroll: true, bubbles: true });
  useLayoutEffect(() => {
    if (!control || !bubble.current) return;
    const { left, width, top, bottom } = control.getBoundingClientRect();
    const { offsetWidth, offsetHeight, style } = bubble.current;
    const isBelow = bottom + MARGIN + offsetHeight < innerHeight;
    style.left = `${Math.max(MARGIN, Math.min(left + width / 2 - offsetWidth / 2, innerWidth - offsetWidth - MARGIN))}px`;
    style.top = `${isBelow ? bottom + MARGIN : top - MARGIN - offsetHeight}px`;
  }, [control]);
  if (!control) return null;
  return (
    <div className={styles.tip} ref={bubble} role="tooltip">
      {control.getAttribute("title")}
    </div>
  );
}
