import { useEffect, useState } from "react";

import { readStored, writeStored } from "../api/stored";

export type Theme = "auto" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** The theme (light, dark or the system's) and a function to switch it; stored in the browser. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(() => (readStored("theme") ?? "auto") as Theme);
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    writeStored("theme", theme);
  }, [theme]);
  return [theme, () => setTheme((current) => NEXT[current])];
}
