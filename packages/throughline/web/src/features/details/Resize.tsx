import { useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import styles from "./resize.module.css";

interface Limits {
  initial: number;
  least: number;
  most: number;
}

interface Props extends Limits {
  label: string;
  width: number;
  change: (width: number) => void;
  /** Whether the part is at the right of the handle: dragging to the left makes it wider. */
  isRight?: boolean;
}

const STEP = 24;

/** A width in pixels that the browser remembers. */
export function useWidth(name: string, { initial, least, most }: Limits): [number, (width: number) => void] {
  const key = `throughline-${name}`;
  const within = (width: number) => Math.round(Math.min(most, Math.max(least, width)));
  const [width, setWidth] = useState(() => within(Number(localStorage.getItem(key)) || initial));
  const change = (wanted: number) => {
    localStorage.setItem(key, String(within(wanted)));
    setWidth(within(wanted));
  };
  return [width, change];
}

/** A handle to resize a part by mouse, touch or arrow keys; a double click resets it. */
export function Resize({ label, width, change, initial, least, most, isRight = false }: Props): ReactNode {
  const sign = isRight ? -1 : 1;
  const onKey = (event: KeyboardEvent) => {
    const wanted = { ArrowRight: width + sign * STEP, ArrowLeft: width - sign * STEP, Home: least, End: most }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    change(wanted);
  };
  const begin = (event: PointerEvent<HTMLElement>) => {
    const handle = event.currentTarget;
    const from = event.clientX;
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (moved) => change(width + sign * (moved.clientX - from));
    handle.onlostpointercapture = () => (handle.onpointermove = null);
    event.preventDefault();
  };
  // A separator that has the focus is a control (WAI-ARIA, window splitter), which the rules do not know.
  /* eslint-disable jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/no-noninteractive-tabindex */
  return (
     
    <div
      className={styles["handle"]}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      title={label}
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={most}
       
      tabIndex={0}
      onKeyDown={onKey}
      onPointerDown={begin}
      onDoubleClick={() => change(initial)}
    />
  );
}
