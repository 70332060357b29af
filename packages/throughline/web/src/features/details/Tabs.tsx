import { useId, type KeyboardEvent, type ReactNode } from "react";

export interface Tab {
  id: string;
  title: string;
  count?: number;
  content: () => ReactNode;
}

/** Tabs as WAI-ARIA has them: the arrow keys go from one to the next. */
export function Tabs({ tabs, chosen, choose }: { tabs: readonly Tab[]; chosen: string | null; choose: (id: string) => void }): ReactNode {
  const own = useId();
  const at = Math.max(0, tabs.findIndex((tab) => tab.id === chosen));
  const onKey = (event: KeyboardEvent<HTMLButtonElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    choose(next.id);
    event.currentTarget.parentElement?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <>
      <div className="tabs" role="tablist" aria-label="Details">
        {tabs.map((tab, place) => (
          <button key={tab.id} type="button" role="tab" id={`${own}-${tab.id}`} data-tab={tab.id} aria-selected={place === at} aria-controls={`${own}-panel`} tabIndex={place === at ? 0 : -1} onClick={() => choose(tab.id)} onKeyDown={onKey}>
            {tab.title}
            {tab.count !== undefined && <span className="muted"> {tab.count}</span>}
          </button>
        ))}
      </div>
      <div className="tab-panel" role="tabpanel" id={`${own}-panel`} aria-labelledby={`${own}-${tabs[at]?.id ?? ""}`} tabIndex={0}>
        {tabs[at]?.content()}
      </div>
    </>
  );
}
