import { useLayoutEffect, useState } from "react";
import type { Room } from "../../graph/arrange";

/** The height in pixels of toolbar, timeline and notes. */
const CHROME_HEIGHT = 216;
const STEP = 60;

/** Return the space for a graph in the window; small changes of the window's size are ignored to avoid a new layout. */
export function useRoom(isHalf: boolean): Room {
  const [room, setRoom] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const measure = () =>
      setRoom((before) => {
        const now = roomOf();
        return Math.abs(now.width - before.width) < STEP && Math.abs(now.height - before.height) < STEP ? before : now;
      });
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  return isHalf ? { ...room, width: room.width / 2 } : room;
}

function roomOf(): Room {
  // The height of main excludes the header and the banner of the sample.
  const height = document.querySelector("main")?.clientHeight ?? window.innerHeight;
  return { width: window.innerWidth, height: Math.max(240, height - CHROME_HEIGHT) };
}
