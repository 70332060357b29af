import { clsx } from "clsx";
import type { ReactNode } from "react";
import { writeToClipboard } from "../../components/Copy";
import { HealthLabel } from "../../components/HealthState";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { Menu, type Choice } from "../../components/Menu";
import { PlatformIcon } from "../../components/PlatformIcon";
import { isGroup, mapAddress, problemsText, sizeText, worstOf, type MapItem, type MapView } from "../../graph/map";
import { impactOf, provenanceOf } from "../../graph/places";
import { addressOf, DEEPEST } from "../../graph/view";
import { parts } from "../../graph/words";
import { go } from "../../navigation/address";
import { MAP } from "../../strings/map";
import cards from "../../components/card.module.css";
import styles from "./map.module.css";
import states from "../../components/state.module.css";

/** Return the name of an item: of a node without its parents. */
export function titleOf({ kind, label }: MapItem): string {
  if (!label) return MAP.none[kind];
  return kind === "dataset" ? parts(label, "dataset").title : kind === "task" ? parts(label, "job").title : label;
}

/** Return the address that an item leads to: a group in the map, or the graph of a node. */
export function addressIn(view: MapView, item: MapItem): string {
  return isGroup(item) ? mapAddress({ by: view.by, path: [...view.path, item.key] }) : addressOf(item.key);
}

/** The icon of a group or a node. */
export function ItemIcon({ item: { kind, key, about, platform } }: { item: MapItem }): ReactNode {
  if (kind === "platform") return <PlatformIcon node={{ kind: key, platform: key, namespace: `${key}:` }} />;
  if (kind === "schema" || kind === "owner" || kind === "domain") return <Icon name={kind === "schema" ? "folder" : kind === "owner" ? "owner" : "tag"} />;
  return <PlatformIcon node={{ kind: kind === "dataset" ? "table" : kind, platform, namespace: about ?? "" }} />;
}

interface Props {
  view: MapView;
  item: MapItem;
  style?: object;
}

/** A group or a node with its counts and state, and a menu, which a right click opens too. */
export function MapBox({ view, item, style }: Props): ReactNode {
  const { node, key, count, problems, health } = item;
  const title = titleOf(item);
  const address = addressIn(view, item);
  const choice = ([text, about]: readonly [string, string], act: () => void): Choice => ({ text, about, act });
  const choices = [
    choice(MAP.open, () => go(address)),
    ...(node
      ? [
          choice(MAP.impact, () => go(impactOf(node.id))),
          ...(node.type === "dataset" ? [choice(MAP.provenance, () => go(provenanceOf(node.id)))] : []),
          choice(MAP.upstream, () => go(addressOf(node.id, { up: DEEPEST, down: 0, ...(item.kind === "pipeline" && { level: "pipeline" as const }) }))),
        ]
      : []),
    choice(MAP.hide, () => go(mapAddress({ ...view, hidden: [...view.hidden, key] }))),
    choice(MAP.copy, () => void writeToClipboard(node?.id ?? key)),
  ];
  const wrong = problemsText(problems);
  return (
    <div
      className={clsx(cards.state, styles.box)}
      data-item={key}
      data-state={health && !isGroup(item) ? health.state : (worstOf(problems) ?? "")}
      {...(style && { style })}
      onContextMenu={(event) => {
        event.preventDefault();
        event.currentTarget.querySelector<HTMLElement>("button")?.click();
      }}
    >
      <Link className={styles.name} href={address} title={[item.label, item.about].filter(Boolean).join("\n")}>
        <ItemIcon item={item} />
        <span className="clip">{title}</span>
      </Link>
      <Menu icon="dots" text={MAP.actions(title)} title={MAP.actions(title)} choices={choices} isBare />
      <span className={styles.about}>
        {isGroup(item) && <span className="muted">{sizeText(view.by, count)}</span>}
        {isGroup(item) && wrong && <span className={clsx(states["state"], states[worstOf(problems) === "late" ? "warn" : "bad"], "clip")} title={wrong}>{wrong}</span>}
        {health && !(isGroup(item) && wrong) && <HealthLabel health={health} />}
      </span>
    </div>
  );
}
