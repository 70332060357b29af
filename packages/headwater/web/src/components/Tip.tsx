import { flip, offset, shift, useDismiss, useFloating } from "@floating-ui/react";
import { useEffect, useState, type ReactNode } from "react";
import styles from "./tip.module.css";

const MARGIN = 8;
const MIDDLEWARE = [offset(MARGIN), flip(), shift({ padding: MARGIN })];

/** A tooltip with the title of the focused control. Browsers show titles only on hover. */
export function Tip(): ReactNode {
  const [control, setControl] = useState<Element | null>(null);
  useEffect(() => {
    const hide = () => setControl(null);
    const show = ({ target }: Event) => setControl(target instanceof Element && target.matches("[title]:focus-visible") ? target : null);
    const handlers = { focusin: show, focusout: hide, pointerdown: hide };
    for (const [name, act] of Object.entries(handlers)) window.addEventListener(name, act, true);
    return () => {
      for (const [name, act] of Object.entries(handlers)) window.removeEventListener(name, act, true);
    };
  }, []);
  const { refs, floatingStyles, context } = useFloating({
    open: control !== null,
    onOpenChange: () => setControl(null),
    strategy: "fixed",
    middleware: MIDDLEWARE,
    elements: { reference: control },
  });
  useDismiss(context, { ancestorScroll: true, bubbles: true });
  if (!control) return null;
  return (
    <div className={styles.tip} ref={(bubble) => refs.setFloating(bubble)} style={floatingStyles} role="tooltip">
      {control.getAttribute("title")}
    </div>
  );
}
