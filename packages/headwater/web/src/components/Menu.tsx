import { clsx } from "clsx";
import { useInteractions, useListNavigation, useRole, useTypeahead } from "@floating-ui/react";
import { useRef, useState, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";
import { usePopup } from "./usePopup";
import styles from "./menu.module.css";
import controls from "./controls.module.css";

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
  /** Show only the icon of the button. */
  isBare?: boolean;
  /** Content below the choices. */
  children?: ReactNode;
}

/** A button with a menu of choices. */
export function Menu({ icon, text, title, choices, isDisabled = false, isBare = false, children }: Props): ReactNode {
  const [active, setActive] = useState<number | null>(null);
  const { isOpen, close, setControl, setSheet, context, interactions, onBlur } = usePopup();
  const items = useRef<(HTMLElement | null)[]>([]);
  const labels = useRef<string[]>([]);
  const { getReferenceProps, getFloatingProps, getItemProps } = useInteractions([
    ...interactions,
    useRole(context, { role: "menu" }),
    useListNavigation(context, { listRef: items, activeIndex: active, onNavigate: setActive, focusItemOnOpen: true, loop: true }),
    useTypeahead(context, { listRef: labels, activeIndex: active, onMatch: setActive }),
  ]);
  return (
    <span className={styles.menu} onBlur={onBlur}>
      <button type="button" className={clsx(controls.button, isBare && [controls.bare, controls.square])} ref={setControl} aria-label={text} title={title} disabled={isDisabled} {...getReferenceProps()}>
        <Icon name={icon} /> {!isBare && <span className={controls.wide}>{text}</span>}
      </button>
      {isOpen && (
        <div className={styles.sheet} ref={setSheet}>
          <div {...getFloatingProps({ "aria-label": text })}>
            {choices.map((choice, place) => (
              <button
                key={choice.text}
                type="button"
                role="menuitem"
                ref={(item) => {
                  items.current[place] = item;
                  labels.current[place] = choice.text;
                }}
                tabIndex={place === active ? 0 : -1}
                {...getItemProps({
                  onClick: () => {
                    choice.act();
                    close();
                  },
                })}
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
