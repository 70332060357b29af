import { useDismiss, useFloatingRootContext } from "@floating-ui/react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import styles from "./tip.module.css";

const MARGIN = 8;

/** What the control that has the focus does, in words: browsers show its title to a mouse only. */
export function Tip(): ReactNode {
  const [of, setOf] = useState<Element | null>(null);
  const bubble = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const hide = () => setOf(null);
    const show = ({ target }: Event) => setOf(target instanceof Element && target.matches("[title]:focus-visible") ? target : null);
    const all = { focusin: show, focusout: hide, pointerdown: hide };
    for (const [name, act] of Object.entries(all)) window.addEventListener(name, act, true);
    return () => {
      for (const [name, act] of Object.entries(all)) window.removeEventListener(name, act, true);
    };
  }, []);
  const elements = useMemo(() => ({ reference: of, floating: null }), [of]);
  const context = useFloatingRootContext({ open: of !== null, onOpenChange: () => setOf(null), elements });
  useDismiss(context, { ancestorScroll: true, bubbles: true });
  useLayoutEffect(() => {
    if (!of || !bubble.current) return;
    const { left, width, top, bottom } = of.getBoundingClientRect();
    const { offsetWidth, offsetHeight, style } = bubble.current;
    const isBelow = bottom + MARGIN + offsetHeight < innerHeight;
    style.left = `${Math.max(MARGIN, Math.min(left + width / 2 - offsetWidth / 2, innerWidth - offsetWidth - MARGIN))}px`;
    style.top = `${isBelow ? bottom + MARGIN : top - MARGIN - offsetHeight}px`;
  }, [of]);
  if (!of) return null;
  return (
    <div className={styles.tip} ref={bubble} role="tooltip">
      {of.getAttribute("title")}
    </div>
  );
}
