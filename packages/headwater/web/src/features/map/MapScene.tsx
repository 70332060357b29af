import { useMemo, type ReactNode } from "react";
import type { Answer } from "../../api/client";
import type { MapView } from "../../graph/map";
import { mapOf } from "../../graph/pipelines";
import { MAP } from "../../strings/map";
import { MapBox } from "./MapBox";
import styles from "./map.module.css";

/** Size in which a group's name, count and problems fit. */
const BOX = { width: 300, height: 58 };

/** Return lengths in pixels as custom properties, which a narrow window ignores. */
function sized(lengths: Record<string, number>): object {
  return Object.fromEntries(Object.entries(lengths).map(([name, length]) => [`--${name}`, `${length}px`]));
}

/** The items of a group from left to right along their data flow, and below them those without connections. */
export function MapScene({ answer, view }: { answer: Answer<"map">; view: MapView }): ReactNode {
  const { boxes, lines, width, height, others } = useMemo(() => {
    const shown = answer.items.filter(({ key }) => !view.hidden.includes(key));
    const upstream = (id: string) => answer.edges.filter((edge) => edge.downstream === id).map((edge) => edge.upstream);
    return mapOf(shown.map((item) => ({ id: item.key, upstream: upstream(item.key), item })), BOX);
  }, [answer, view.hidden]);
  return (
    <div className={styles.scene} role="group" aria-label={MAP.scene}>
      {boxes.length > 0 && (
        <div className={styles.flow} style={sized({ width, height })}>
          <svg width={width} height={height} aria-hidden="true">
            {lines.map((line) => (
              <path key={line} d={line} />
            ))}
          </svg>
          {boxes.map(({ pipeline: { item }, box: { x, y, width, height } }) => (
            <MapBox key={item.key} view={view} item={item} style={sized({ x, y, width, height })} />
          ))}
        </div>
      )}
      <div className={styles.others}>
        {others.map(({ item }) => (
          <MapBox key={item.key} view={view} item={item} />
        ))}
      </div>
      {answer.items.length === 0 && <p className="muted">{MAP.empty}</p>}
    </div>
  );
}
