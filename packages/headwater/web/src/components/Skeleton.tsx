import { clsx } from "clsx";
import { useEffect, useState, type ReactNode } from "react";
import { WAITING } from "../strings/waiting";
import styles from "./skeleton.module.css";
import messages from "./message.module.css";

const DELAY_MS = 300;

/** Return true once the component has been shown for 300 ms. */
function useIsLong(): boolean {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLong;
}

/** A line of text while content loads. */
export function Loading(): ReactNode {
  return (
    <p className={messages.waiting} aria-busy="true">
      {WAITING.loading}
    </p>
  );
}

/** Placeholder shapes while content loads; hidden for the first 300 ms. */
export function Skeleton({ of = "lines" }: { of?: "lines" | "cards" | "graph" }): ReactNode {
  const isLong = useIsLong();
  return (
    <div className={messages.waiting} aria-busy="true">
      {isLong && (
        <>
          <p className="hidden" role="status">
            {WAITING.loading}
          </p>
          <div className={styles[of]} aria-hidden="true">
            <i />
            <i />
            <i />
            <i />
          </div>
        </>
      )}
    </div>
  );
}

/** The number of nodes in layout, over a previous graph with other steps or of another time; hidden for the first 300 ms. */
export function Arranging({ count, isOverOther }: { count: number; isOverOther: boolean }): ReactNode {
  const isLong = useIsLong();
  if (!isLong) return null;
  const text = WAITING.arranging(count);
  return (
    <>
      {isOverOther && (
        <div className={clsx(styles["overlay"], styles["opaque"])}>
          <Skeleton of="graph" />
        </div>
      )}
      <p className={styles["progress"]} role="status">
        <progress aria-label={text} /> {text}
      </p>
    </>
  );
}
