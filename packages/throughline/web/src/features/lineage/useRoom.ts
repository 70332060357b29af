import { useEffect, useState } from "react";
import type { Room } from "../../graph/arrange";

/** The height in pixels of header, toolbar, timeline and notes. */
const CHROME_HEIGHT = 268;
const STEP = 60;

/** Return the space for a graph in the window; small changes of the window's size are ignored to avoid a new layout. */
export function useRoom(isHalf: boolean): Room {
  const [room, setRoom] = useState(roomOf);
  useEffect(() => {
    const measure = () =>
      setRoom((before) => {
        const now = roomOf();
        return Math.abs(now.width - before.width) < STEP && Math.abs(now.height - before.height) < STEP ? before : now;
      });
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  return isHalf ? { ...room, width: room.width / 2 } : room;
}

function roomOf(): Room {
  return { width: window.innerWidth, height: Math.max(240, window.innerHeight - CHROME_HEIGHT) };
}
