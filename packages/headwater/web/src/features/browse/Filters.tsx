import { clsx } from "clsx";
import styles from "./browse.module.css";
import { useEffect, useState, type ReactNode } from "react";
import { go, useAddress } from "../../navigation/address";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { platformOf } from "../../platforms";
import { BROWSE } from "../../strings/browse";
import { labelOfState } from "../../components/RunState";
import { COMPONENTS } from "../../strings/components";
import { changed, FACETS, nodeStateIn, selectedIn, withoutFilters, type Facet, type Facets } from "./address";
import controls from "../../components/controls.module.css";

const PAUSE_MS = 200;

interface FiltersProps {
  facets: Partial<Record<Facet, Facets["owner"]>> | null | undefined;
  /** The facets to show, in order. */
  names?: readonly Facet[];
  /** Show the filter by name. */
  isNamed?: boolean;
  /** Content after the filters. */
  children?: ReactNode;
}

/** A select for every facet with more than one value. The address stores the selection. */
export function Filters({ facets, names = FACETS, isNamed = false, children }: FiltersProps): ReactNode {
  const address = useAddress();
  const selected = selectedIn(address.searchParams, names);
  const isFiltered = Object.keys(selected).length > 0 || Boolean(address.searchParams.get("name"));
  return (
    <div className={styles.filters} role="group" aria-label={BROWSE.filters}>
      {isNamed && <NameField />}
      {facets && names.map((facet) => <FacetSelect key={facet} facet={facet} counts={facets[facet] ?? []} value={selected[facet] ?? null} />)}
      {children}
      {isFiltered && (
        <Link className={clsx(controls.button, controls.bare)} href={withoutFilters(address)}>
          <Icon name="close" /> {BROWSE.clear}
        </Link>
      )}
    </div>
  );
}

const ALL = "all";

function FacetSelect({ facet, counts, value }: { facet: Facet; counts: Facets["owner"]; value: string | null }): ReactNode {
  const address = useAddress();
  if (value === null && counts.length < 2) return null;
  const label = BROWSE.facets[facet];
  return (
    <label className={styles.field} data-selected={value !== null}>
      <span className="muted">{label}</span>
      <select className={controls.select} value={value === null ? ALL : `=${value}`} onChange={(event) => go(changed(address, { [facet]: event.target.value === ALL ? null : event.target.value.slice(1) }))}>
        <option value={ALL}>{BROWSE.all}</option>
        {counts.map(({ value: option, count }) => (
          <option key={option} value={`=${option}`}>
            {labelOf(facet, option)} ({count.toLocaleString("en")})
          </option>
        ))}
      </select>
    </label>
  );
}

/** Return the label of a facet's value. */
function labelOf(facet: Facet, value: string): string {
  if (value === "") return BROWSE.noValue[facet];
  const nodeState = nodeStateIn(value);
  if (facet === "state") return nodeState ? COMPONENTS.health[nodeState] : labelOfState(value);
  if (facet === "age" || facet === "kind") return (BROWSE.values[facet] as Readonly<Record<string, string>>)[value] ?? value;
  if (facet === "type") return value.charAt(0).toUpperCase() + value.slice(1);
  if (facet !== "platform") return value;
  const { name } = platformOf({ platform: value, namespace: `${value}:`, kind: value });
  return name === "Table" ? value : name;
}

/** A select for the order of the list. */
export function SortSelect<Order extends keyof typeof BROWSE.sorts>({ orders, order }: { orders: readonly Order[]; order: Order }): ReactNode {
  const address = useAddress();
  return (
    <label className={styles.field}>
      <span className="muted">{BROWSE.sort}</span>
      <select className={controls.select} value={order} onChange={(event) => go(changed(address, { sort: event.target.value === orders[0] ? null : event.target.value }))}>
        {orders.map((choice) => (
          <option key={choice} value={choice}>
            {BROWSE.sorts[choice]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A filter by part of the name; the address is updated after a pause. */
function NameField(): ReactNode {
  const address = useAddress();
  const name = address.searchParams.get("name") ?? "";
  const [typed, setTyped] = useState({ text: name, of: name });
  if (typed.of !== name) setTyped({ text: name, of: name }); // going back, or cleared
  useEffect(() => {
    const text = typed.text.trim();
    if (text === name) return undefined;
    const timer = setTimeout(() => go(changed(address, { name: text || null }), true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, name, address]);
  return (
    <label className={styles.field} data-selected={name !== ""} title={BROWSE.nameAbout}>
      <span className="muted">{BROWSE.name}</span>
      <input className={controls.field} type="search" value={typed.text} onChange={(event) => setTyped({ text: event.target.value, of: name })} />
    </label>
  );
}
