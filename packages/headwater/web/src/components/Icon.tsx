import type { ReactNode } from "react";
import icons from "./icon.module.css";

/** SVG paths on a grid of 24 by 24. */
export const ICONS = {
  table: "M3 5h18v14H3zM3 10h18M9 10v9",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  artifact: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  model: "M12 4v5M12 15v5M5 8l5 3M14 13l5 3M5 16l5-3M14 11l5-3M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
  stream: "M3 8c3-4 6 4 9 0s6 4 9 0M3 16c3-4 6 4 9 0s6 4 9 0",
  pipeline: "M4 6h6v5H4zM14 13h6v5h-6zM7 11v4h7",
  task: "M8 5l11 7-11 7z",
  query: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  column: "M9 4h6v16H9z",
  run: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  moon: "M20 14a8 8 0 0 1-10-10 8 8 0 1 0 10 10",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  chain: "M3 9h5v6H3zM16 9h5v6h-5zM8 12h1.5M11.5 12h1M14.5 12H16",
  across: "M4 12h15M14 7l5 5-5 5",
  downward: "M12 4v15M7 14l5 5 5-5",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  done: "M5 12.5l4.5 4.5L19 7.5",
  fail: "M6 6l12 12M18 6L6 18",
  alert: "M12 4l9 16H3zM12 10v4M12 17v.5",
  lost: "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17v.5",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M9.5 9.5a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4M12 16v.5",
  more: "M4 8h9M19 8h1M4 16h1M11 16h9M16 5.5v5M8 13.5v5",
  dots: "M5 12v.1M12 12v.1M19 12v.1",
  plus: "M12 6v12M6 12h12",
  minus: "M6 12h12",
  close: "M6 6l12 12M18 6L6 18",
  owner: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4.5 20c.8-4 3.8-5.5 7.5-5.5s6.7 1.5 7.5 5.5",
  right: "M9 5l7 7-7 7",
  left: "M15 5l-7 7 7 7",
  down: "M6 9l6 6 6-6",
  up: "M6 15l6-6 6 6",
  wrap: "M4 6h16M4 12h13a3 3 0 0 1 0 6h-5M4 18h4M14 15.5L11.5 18l2.5 2.5",
  share: "M12 3v12M8 7l4-4 4 4M5 12v8h14v-8",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  clock: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18",
  compare: "M7 4v16M17 4v16M3 8h8M13 16h8",
  bars: "M4 6h9M8 12h10M13 18h7",
  beside: "M4 5h16v14H4zM12 5v14",
  impact: "M4 12h6M10 12l7-6M10 12l7 6M17 6h-4M17 6v4M17 18h-4M17 18v-4",
  origin: "M20 12h-6M14 12L7 6M14 12l-7 6M4 6h3M4 18h3M4 12h10",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  folder: "M3 6h7l2 2h9v11H3z",
  tag: "M4 4h8l8 8-8 8-8-8zM8.5 8.5v.1",
} as const;

export type IconName = keyof typeof ICONS;

/** A decorative icon beside a text. */
export function Icon({ name }: { name: IconName }): ReactNode {
  return (
    <svg className={icons.icon} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={ICONS[name]} />
    </svg>
  );
}
