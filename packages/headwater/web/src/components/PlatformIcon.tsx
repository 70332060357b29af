import { clsx } from "clsx";
import { createElement, type ReactNode } from "react";
import { platformOf, type Described } from "../platforms";
import icons from "./icon.module.css";

/** The icon of a node's platform or type, in its color. */
export function PlatformIcon({ node, isNamed = false }: { node: Described; isNamed?: boolean }): ReactNode {
  const { name, icon, isFilled, color } = platformOf(node);
  return (
    <span className={icons.platform} style={{ color }} data-platform={name} title={isNamed ? undefined : name}>
      <svg className={clsx(icons.icon, isFilled && icons.filled)} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
        {icon.map(([tag, attributes], place) => createElement(tag, { key: place, ...attributes }))}
      </svg>
    </span>
  );
}
