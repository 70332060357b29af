import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Link } from "../../components/Link";
import { mapAddress, sizeText, type MapView } from "../../graph/map";
import { MAP } from "../../strings/map";
import { MapScene } from "./MapScene";
import styles from "./map.module.css";
import cards from "../../components/card.module.css";
import controls from "../../components/controls.module.css";

const SHOWN = 24;
const VIEW: MapView = { by: "platform", path: [], hidden: [], after: [] };

/** The platforms of the map, for the start page of a large store. */
export default function StartMap(): ReactNode {
  const { data } = useAnswer("map", { by: "platform", limit: SHOWN });
  return (
    <section className={cards.card} aria-labelledby="map">
      <h2 id="map">
        {MAP.title} <span className="muted">{data && sizeText("platform", data.count)}</span>
      </h2>
      <div className={styles.card}>{data && <MapScene answer={data} view={VIEW} />}</div>
      <p className={cards.cardFoot}>
        <Link className={controls.link} href={mapAddress({})}>
          {MAP.openAll}
        </Link>
      </p>
    </section>
  );
}
