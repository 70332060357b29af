import { useEffect, useState } from "react";

export type Theme = "auto" | "light" | "dark";
const KEY = "headwater-theme";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** The theme (light, dark or the system's) and a function to switch it; stored in the browser. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(() => (localStorage.getItem(KEY) ?? "auto") as Theme);
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  return [theme, () => setTheme((current) => NEXT[current])];
}
