import { useClick, useDismiss, useFloatingRootContext } from "@floating-ui/react";
import { useMemo, useState, type FocusEvent } from "react";

interface Options {
  /** Keep the popup closed while it has nothing to show. */
  isEmpty?: boolean;
  /** Open the popup when its control is clicked. */
  opensOnClick?: boolean;
}

/** The state of a popup and its control. Escape, a click elsewhere or moving the focus elsewhere closes it; style sheets place it. */
export function usePopup<Control extends HTMLElement = HTMLButtonElement>({ isEmpty = false, opensOnClick = true }: Options = {}) {
  const [isWanted, setOpen] = useState(false);
  const [control, setControl] = useState<Control | null>(null);
  const [sheet, setSheet] = useState<HTMLElement | null>(null);
  const elements = useMemo(() => ({ reference: control, floating: sheet }), [control, sheet]);
  const isOpen = isWanted && !isEmpty;
  const close = () => {
    setOpen(false);
    control?.focus();
  };
  const context = useFloatingRootContext({
    open: isOpen,
    onOpenChange: (next, _event, reason) => (reason === "escape-key" ? close() : setOpen(next)),
    elements,
  });
  const interactions = [useClick(context, { enabled: opensOnClick }), useDismiss(context)];
  /** For an element that contains both the control and the popup. */
  const onBlur = ({ relatedTarget, currentTarget }: FocusEvent) => {
    if (relatedTarget && !currentTarget.contains(relatedTarget)) setOpen(false);
  };
  return { isOpen, setOpen, close, control, setControl, setSheet, context, interactions, onBlur };
}
