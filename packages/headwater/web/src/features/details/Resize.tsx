import { useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { readStored, writeStored } from "../../api/stored";
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
  /** The resized element is at the right of the handle, so dragging to the left widens it. */
  isRight?: boolean;
}

const STEP = 24;

/** A width in pixels, stored in the browser. */
export function useWidth(name: string, { initial, least, most }: Limits): [number, (width: number) => void] {
  const clamped = (width: number) => Math.round(Math.min(most, Math.max(least, width)));
  const [width, setWidth] = useState(() => clamped(Number(readStored(name)) || initial));
  const change = (next: number) => {
    writeStored(name, String(clamped(next)));
    setWidth(clamped(next));
  };
  return [width, change];
}

/** A handle to resize an element by mouse, touch or arrow keys; a double click resets it. */
export function Resize({ label, width, change, initial, least, most, isRight = false }: Props): ReactNode {
  const sign = isRight ? -1 : 1;
  const onKey = (event: KeyboardEvent) => {
    const next = { ArrowRight: width + sign * STEP, ArrowLeft: width - sign * STEP, Home: least, End: most }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    change(next);
  };
  const startDrag = (event: PointerEvent<HTMLElement>) => {
    const handle = event.currentTarget;
    const from = event.clientX;
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (move) => change(width + sign * (move.clientX - from));
    handle.onlostpointercapture = () => (handle.onpointermove = null);
    event.preventDefault();
  };
  // A focusable separator is a control (WAI-ARIA, window splitter); the lint rules do not support it.
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
      onPointerDown={startDrag}
      onDoubleClick={() => change(initial)}
    />
  );
}
