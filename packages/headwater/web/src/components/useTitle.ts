import { useEffect } from "react";
import { COMPONENTS } from "../strings/components";

/** Set the title of the browser tab. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = COMPONENTS.tab(name);
  }, [name]);
}
