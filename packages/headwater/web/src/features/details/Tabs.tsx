import { useId, type KeyboardEvent, type ReactNode } from "react";
import { DETAILS } from "../../strings/details";
import details from "./details.module.css";

export interface Tab {
  id: string;
  title: string;
  count?: number;
  content: () => ReactNode;
}

/** Tabs by the WAI-ARIA pattern, with arrow keys to switch. */
export function Tabs({ tabs, selected, select }: { tabs: readonly Tab[]; selected: string | null; select: (id: string) => void }): ReactNode {
  const own = useId();
  const at = Math.max(0, tabs.findIndex((tab) => tab.id === selected));
  const onKey = (event: KeyboardEvent<HTMLButtonElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    select(next.id);
    event.currentTarget.parentElement?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <>
      <div className={details.tabs} role="tablist" aria-label={DETAILS.label}>
        {tabs.map((tab, place) => (
          <button key={tab.id} type="button" role="tab" id={`${own}-${tab.id}`} data-tab={tab.id} aria-selected={place === at} aria-controls={`${own}-panel`} tabIndex={place === at ? 0 : -1} onClick={() => select(tab.id)} onKeyDown={onKey}>
            {tab.title}
            {tab.count !== undefined && <span className="muted"> {tab.count}</span>}
          </button>
        ))}
      </div>
      <div className={details.tabPanel} role="tabpanel" id={`${own}-panel`} aria-labelledby={`${own}-${tabs[at]?.id ?? ""}`} tabIndex={0}>
        {tabs[at]?.content()}
      </div>
    </>
  );
}
