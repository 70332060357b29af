import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import styles from "./tip.module.css";

const MARGIN = 8;

/** A tooltip with the title of the focused control. Browsers show titles only on hover. */
export function Tip(): ReactNode {
  const [control, setControl] = useState<Element | null>(null);
  const bubble = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const hide = () => setControl(null);
    const show = ({ target }: Event) => setControl(target instanceof Element && target.matches("[title]:focus-visible") ? target : null);
    const press = (event: Event) => event instanceof KeyboardEvent && event.key === "Escape" && hide();
    const handlers = { focusin: show, focusout: hide, pointerdown: hide, scroll: hide, keydown: press };
    for (const [name, act] of Object.entries(handlers)) window.addEventListener(name, act, true);
    return () => {
      for (const [name, act] of Object.entries(handlers)) window.removeEventListener(name, act, true);
    };
  }, []);
  useLayoutEffect(() => {
    if (!control || !bubble.current) return;
    const { left, top, bottom, width } = control.getBoundingClientRect();
    const { offsetWidth, offsetHeight, style } = bubble.current;
    const isBelow = bottom + 2 * MARGIN + offsetHeight <= window.innerHeight;
    style.left = `${Math.max(MARGIN, Math.min(left + (width - offsetWidth) / 2, window.innerWidth - MARGIN - offsetWidth))}px`;
    style.top = `${isBelow ? bottom + MARGIN : top - MARGIN - offsetHeight}px`;
  }, [control]);
  if (!control) return null;
  return (
    <div className={styles.tip} ref={bubble} role="tooltip">
      {control.getAttribute("title")}
    </div>
  );
}
