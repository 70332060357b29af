import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { troubleOf, useAnswer } from "../../api/answers";
import { ErrorMessage } from "../../components/ErrorMessage";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { useTitle } from "../../components/useTitle";
import { Loading } from "../../components/Skeleton";
import { GROUPINGS, keyLabel, mapAddress, parseMap, problemsText, sizeText, type MapView } from "../../graph/map";
import { go, useAddress } from "../../navigation/address";
import { MAP } from "../../strings/map";
import { MapScene } from "./MapScene";
import { MapTree } from "./MapTree";
import styles from "./map.module.css";
import controls from "../../components/controls.module.css";

const PAGE = 50;
const NARROW = 900;

/** The roll-up map: groups with counts, problems and data flow, and the same groups as a tree. */
export default function MapPage(): ReactNode {
  const asked = parseMap(useAddress().searchParams);
  const { by, path, hidden, after } = asked;
  const [hasTree, setTree] = useState(() => window.innerWidth >= NARROW);
  const answer = useAnswer("map", { by, path, limit: PAGE, cursor: after.at(-1) ?? null });
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  // A path may have labels in place of keys.
  const view: MapView = data && !isPlaceholderData ? { ...asked, path: data.path } : asked;
  const name = path.length > 0 ? keyLabel(path.at(-1) ?? "", path.length - 1, by) || MAP.all : MAP.title;
  useTitle(name);
  return (
    <main className={styles.page} aria-busy={isPlaceholderData}>
      <div className={styles.tools}>
        <button type="button" className={clsx(controls.button, controls.bare)} aria-pressed={hasTree} onClick={() => setTree(!hasTree)}>
          <Icon name="bars" /> {hasTree ? MAP.hideTree : MAP.showTree}
        </button>
        <div className={controls.segments} role="group" aria-label={MAP.by}>
          {GROUPINGS.map((choice) => (
            <button key={choice} type="button" aria-pressed={choice === by} title={MAP.about[choice]} onClick={() => go(mapAddress({ by: choice }))}>
              {MAP.groupings[choice]}
            </button>
          ))}
        </div>
        <Path view={view} />
      </div>
      <div className={styles.body}>
        {hasTree && <MapTree view={view} />}
        <div className={styles.main} tabIndex={0} role="region" aria-label={MAP.title}>
          {trouble && <ErrorMessage error={trouble} />}
          {!data && !trouble && <Loading />}
          {data && !trouble && (
            <>
              <p className={styles.summary}>
                {sizeText(by, data.count)} · <span className={problemsText(data.problems) ? "" : "muted"}>{problemsText(data.problems) || MAP.noProblems}</span>
                {hidden.length > 0 && (
                  <span className="muted">
                    {" · "}
                    {MAP.hiddenCount(hidden.length)}{" "}
                    <Link className={controls.link} href={mapAddress({ ...view, hidden: [] })}>
                      {MAP.showHidden}
                    </Link>
                  </span>
                )}
              </p>
              <MapScene answer={data} view={view} />
              {(data.next !== null || after.length > 0) && (
                <nav className={styles.pages} aria-label={MAP.pages}>
                  <span className="muted">{MAP.shown(after.length * PAGE + 1, after.length * PAGE + data.items.length, data.total)}</span>
                  {after.length > 0 && (
                    <Link className={controls.button} href={mapAddress({ ...view, after: after.slice(0, -1) })}>
                      <Icon name="left" /> {MAP.previous}
                    </Link>
                  )}
                  {data.next !== null && !isPlaceholderData && (
                    <Link className={controls.button} href={mapAddress({ ...view, after: [...after, data.next] })}>
                      {MAP.next} <Icon name="right" />
                    </Link>
                  )}
                </nav>
              )}
            </>
          )}
        </div>
      </div>
    </main>
  );
}

/** The groups around the current one as links. */
function Path({ view: { by, path } }: { view: MapView }): ReactNode {
  return (
    <nav className={styles.path} aria-label={MAP.path}>
      <h1 className="hidden">{MAP.title}</h1>
      {path.length > 0 && <Link className={controls.link} href={mapAddress({ by })}>{MAP.all}</Link>}
      {path.map((key, place) => (
        <span key={place}>
          <span className="muted"> / </span>
          {place < path.length - 1 ? (
            <Link className={controls.link} href={mapAddress({ by, path: path.slice(0, place + 1) })}>
              {keyLabel(key, place, by) || MAP.none[by]}
            </Link>
          ) : (
            <span aria-current="page">{keyLabel(key, place, by) || MAP.none[by]}</span>
          )}
        </span>
      ))}
    </nav>
  );
}
