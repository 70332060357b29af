import "./menu.css";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

export interface Choice {
  text: string;
  about: string;
  act: () => void;
}

interface Props {
  icon: IconName;
  text: string;
  title: string;
  choices: readonly Choice[];
  isDisabled?: boolean;
  /** Whether the button is only its icon. */
  isBare?: boolean;
  /** Below the choices. */
  children?: ReactNode;
}

/** A button with a menu as WAI-ARIA has it: arrow keys go from one to the next, Escape closes. */
export function Menu({ icon, text, title, choices, isDisabled = false, isBare = false, children }: Props): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isOpen) list.current?.querySelector("button")?.focus();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKey = (event: KeyboardEvent<HTMLDivElement>) => {
    const items = [...event.currentTarget.querySelectorAll("button")];
    const at = items.findIndex((each) => each === document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    if (next !== undefined) items[next % items.length]?.focus();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span className="menu" onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false)}>
      <button
        type="button"
        className={isBare ? "button bare square" : "button"}
        ref={button}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={text}
        title={title}
        disabled={isDisabled}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        <Icon name={icon} /> {!isBare && <span className="wide">{text}</span>}
      </button>
      {isOpen && (
        <div className="menu-sheet">
          <div role="menu" id={id} aria-label={text} ref={list} onKeyDown={onKey}>
            {choices.map((choice) => (
              <button
                key={choice.text}
                type="button"
                role="menuitem"
                tabIndex={-1}
                onClick={() => {
                  choice.act();
                  close();
                }}
              >
                {choice.text} <span className="muted">{choice.about}</span>
              </button>
            ))}
          </div>
          {children}
        </div>
      )}
    </span>
  );
}
