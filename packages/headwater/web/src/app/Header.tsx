import { clsx } from "clsx";
import type { ReactNode } from "react";
import { ONE_FILE, IS_STATIC, TOUR_ADDRESS } from "../api/base";
import { useAnswer } from "../api/answers";
import { Icon, type IconName } from "../components/Icon";
import { Link } from "../components/Link";
import { Menu } from "../components/Menu";
import { Search } from "../components/Search";
import { BROWSE } from "../strings/browse";
import { FRAME } from "../strings/frame";
import { go } from "../navigation/address";
import { useTheme, type Theme } from "./theme";
import styles from "./header.module.css";
import controls from "../components/controls.module.css";
import states from "../components/state.module.css";

const THEMES: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };

const LISTS = ["datasets", "jobs", "runs", "owners", "tags"] as const;

/** The header of every view. */
export function Header({ isLive, pathname }: { isLive: boolean; pathname: string }): ReactNode {
  const [theme, switchTheme] = useTheme();
  const { data: health } = useAnswer("health", {});
  const { errors = 0, problems = 0 } = health?.counts ?? {};
  const isFine = problems === 0;
  const isUnknown = isFine && (health?.uncounted ?? 0) > 0;
  const text = isUnknown ? FRAME.unknown : isFine ? FRAME.none : errors ? FRAME.problems(problems) : FRAME.warnings(problems);
  return (
    <header className={styles.header}>
      <Link href="/" className={styles.brand} aria-label={FRAME.brand}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M3 16h8m10 0h8" />
          <circle cx="16" cy="16" r="5" />
        </svg>
        {FRAME.name}
      </Link>
      <nav className={styles.nav} aria-label={BROWSE.navigation}>
        {(ONE_FILE && ONE_FILE.start !== "/" ? [] : LISTS).map((list) => (
          <Link key={list} href={`/${list}`} aria-current={pathname === `/${list}` ? "page" : undefined}>
            {BROWSE[list]}
          </Link>
        ))}
      </nav>
      <div className={styles.search}>{pathname !== "/" && <Search />}</div>
      {isLive && health && health.counts.runs > 0 && (
        <Link href={ONE_FILE ? "/" : "/problems"} className={clsx(states.state, isUnknown ? "muted" : isFine ? states.good : states.warn)} aria-label={text}>
          <Icon name={isUnknown ? "lost" : isFine ? "done" : "alert"} />
          <span>
            {!isFine && problems.toLocaleString("en")} <span className={controls.wide}>{text.replace(/^[\d,]+ /, "")}</span>
          </span>
        </Link>
      )}
      {!IS_STATIC && (
        <span className={clsx(styles.live, !isLive && styles.off)} role="status" title={isLive ? FRAME.liveAbout : FRAME.offlineAbout}>
          <i aria-hidden="true" />
          {isLive ? FRAME.live : FRAME.offline}
        </span>
      )}
      <Menu
        icon="help"
        text={FRAME.help}
        title={FRAME.help}
        isDisabled={false}
        choices={[
          ...(ONE_FILE ? [] : [{ text: FRAME.tour, about: FRAME.tourAbout, act: () => location.assign(TOUR_ADDRESS) }]),
          { text: FRAME.completeness, about: FRAME.completenessAbout, act: () => go("/completeness") },
        ]}
      />
      <button type="button" className={clsx(controls.button, controls.bare, controls.square)} onClick={switchTheme} aria-label={FRAME.themes[theme]} title={FRAME.themes[theme]}>
        <Icon name={THEMES[theme]} />
      </button>
    </header>
  );
}
