import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { isGroup, mapAddress, problemsText, worstOf, type MapItem, type MapView } from "../../graph/map";
import { MAP } from "../../strings/map";
import { addressIn, ItemIcon, titleOf } from "./MapBox";
import styles from "./map.module.css";

const SHOWN = 50;

/** The groups of the map as a tree; the groups of the current path are expanded. */
export function MapTree({ view }: { view: MapView }): ReactNode {
  return (
    <nav className={styles.tree} aria-label={MAP.tree}>
      <Link href={mapAddress({ by: view.by })} aria-current={view.path.length === 0 ? "page" : undefined}>
        {MAP.all}
      </Link>
      <Branch view={view} path={[]} />
    </nav>
  );
}

/** The items in a group. */
function Branch({ view, path }: { view: MapView; path: string[] }): ReactNode {
  const { data } = useAnswer("map", { by: view.by, path, limit: SHOWN });
  if (!data) return null;
  return (
    <ul>
      {data.items.map((item) => (
        <Item key={item.key} view={view} path={path} item={item} />
      ))}
      {data.total > data.items.length && (
        <li>
          <Link className="muted" href={mapAddress({ by: view.by, path })}>
            {MAP.more(data.total - data.items.length)}
          </Link>
        </li>
      )}
    </ul>
  );
}

function Item({ view, path, item }: { view: MapView; path: string[]; item: MapItem }): ReactNode {
  const own = [...path, item.key];
  const isOnPath = own.every((key, place) => view.path[place] === key);
  const [choice, setChoice] = useState<{ isOpen: boolean; wasOnPath: boolean } | null>(null);
  // A new path expands its groups again, whatever was chosen before.
  const isOpen = choice && choice.wasOnPath === isOnPath ? choice.isOpen : isOnPath;
  const title = titleOf(item);
  const wrong = problemsText(item.problems);
  return (
    <li>
      <span className={styles.entry}>
        {isGroup(item) ? (
          <button type="button" className={styles.toggle} aria-expanded={isOpen} aria-label={isOpen ? MAP.collapse(title) : MAP.expand(title)} onClick={() => setChoice({ isOpen: !isOpen, wasOnPath: isOnPath })}>
            <Icon name={isOpen ? "down" : "right"} />
          </button>
        ) : (
          <span />
        )}
        <Link href={addressIn({ ...view, path }, item)} aria-current={isOnPath && own.length === view.path.length ? "page" : undefined} title={[item.label, item.about, wrong].filter(Boolean).join("\n")}>
          <ItemIcon item={item} />
          <span className="clip">{title}</span>
          {wrong && <i className={clsx(styles.mark, worstOf(item.problems) === "late" && styles.late)} aria-label={wrong} role="img" />}
          {isGroup(item) && <span className="muted">{item.count.toLocaleString("en")}</span>}
        </Link>
      </span>
      {isOpen && isGroup(item) && <Branch view={view} path={own} />}
    </li>
  );
}
