import { useEffect, useState } from "react";
import type { Room } from "../../graph/arrange";

/** What of the window is not the graph's: header, toolbar, timeline and notes. */
const AROUND = 268;
const STEP = 60;

/** The window's room for a graph; small changes of its size do not lay the graph out anew. */
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
  return { width: window.innerWidth, height: Math.max(240, window.innerHeight - AROUND) };
}
