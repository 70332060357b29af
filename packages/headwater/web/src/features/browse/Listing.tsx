import { clsx } from "clsx";
import styles from "./browse.module.css";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { troubleOf } from "../../api/answers";
import { useAddress } from "../../navigation/address";
import { Icon, type IconName } from "../../components/Icon";
import { Link } from "../../components/Link";
import { Sheet } from "../../components/Sheet";
import { ErrorMessage } from "../../components/ErrorMessage";
import { BROWSE } from "../../strings/browse";
import { atPage, cursorsIn, selectedIn, type Facets } from "./address";
import { Filters, SortSelect } from "./Filters";
import sheets from "../../components/sheet.module.css";
import controls from "../../components/controls.module.css";
import cards from "../../components/card.module.css";

/** Items on a page of a list. */
export const PAGE = 50;

interface ListAnswer<Item> {
  items: Item[];
  next: string | null;
  total?: number | null;
  facets?: Facets | null;
  uncounted?: number;
}

interface Props<Item, Order extends keyof typeof BROWSE.sorts> {
  title: string;
  icon: IconName;
  answer: UseQueryResult<ListAnswer<Item>>;
  orders: readonly Order[];
  order: Order;
  /** `wide`: the last column has a state and a time; `fresh`: the columns of the freshness list. */
  layout?: "wide" | "fresh";
  /** The text of an empty list without filters. */
  none?: string | undefined;
  /** Content above the filters. */
  above?: ReactNode;
  /** Return the rows of a page. */
  rows: (items: Item[]) => ReactNode;
}

/** A list with filters, order and pagination. */
export function Listing<Item, Order extends keyof typeof BROWSE.sorts>({ title, icon, answer, orders, order, layout, none, above, rows }: Props<Item, Order>): ReactNode {
  const params = useAddress().searchParams;
  const { data, isPlaceholderData } = answer;
  const trouble = troubleOf(answer);
  const list = title.toLowerCase();
  const uncounted = data && data.total === undefined ? BROWSE.uncountedNodes : BROWSE.uncounted;
  const isFiltered = Object.keys(selectedIn(params)).length > 0 || params.has("name");
  return (
    <Sheet icon={icon} kind={BROWSE.kind} name={title} title={<>{title} {data?.total != null && <span className={clsx("muted", styles.total)}>{data.total.toLocaleString("en")}</span>}</>} isBusy={isPlaceholderData}>
      {trouble && <ErrorMessage error={trouble} />}
      {above}
      <Filters facets={data?.facets} isNamed>
        <SortSelect orders={orders} order={order} />
      </Filters>
      {data && !trouble && (
        <>
          {(data.uncounted ?? 0) > 0 && <p className={sheets.line} role="status">{uncounted(data.uncounted ?? 0, list)}</p>}
          {data.items.length > 0 ? (
            <ul className={clsx(cards.card, styles.list, layout && styles[layout])} aria-label={title}>
              {rows(data.items)}
            </ul>
          ) : (
            !data.uncounted && <p className={sheets.line}>{isFiltered ? BROWSE.nothing(list) : (none ?? BROWSE.none(list))}</p>
          )}
          <Pages answer={data} isCurrent={!isPlaceholderData} />
        </>
      )}
    </Sheet>
  );
}

/** The position of the page in the list, with links to other pages. While another page is loading, Next does nothing. */
export function Pages({ answer, isCurrent }: { answer: ListAnswer<unknown>; isCurrent: boolean }): ReactNode {
  const address = useAddress();
  const cursors = cursorsIn(address.searchParams);
  const first = cursors.length * PAGE + 1;
  const last = first + answer.items.length - 1;
  const total = answer.total ?? (answer.next === null ? last : null);
  const text = (count: number) => count.toLocaleString("en");
  return (
    <nav className={styles.pages} aria-label={BROWSE.pages}>
      <span className="muted" role="status">
        {isCurrent && answer.items.length > 0 && BROWSE.shown(text(first), text(last), total === null ? BROWSE.more : text(total))}
      </span>
      {cursors.length > 1 && (
        <Link className={controls.button} href={atPage(address, [])}>
          {BROWSE.first}
        </Link>
      )}
      {cursors.length > 0 && (
        <Link className={controls.button} href={atPage(address, cursors.slice(0, -1))}>
          <Icon name="left" /> {BROWSE.previous}
        </Link>
      )}
      {answer.next !== null && (
        <Link className={controls.button} href={atPage(address, isCurrent ? [...cursors, answer.next] : cursors)}>
          {BROWSE.next} <Icon name="right" />
        </Link>
      )}
    </nav>
  );
}
