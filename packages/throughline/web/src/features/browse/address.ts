/** The state of a list in its address: filters, order and page. */
import type { Answer } from "../../api/client";

export type Facets = NonNullable<Answer<"datasets">["facets"]>;
export type Facet = keyof Facets;

/** The facets in the order in which they are shown. */
export const FACETS: readonly Facet[] = ["state", "type", "platform", "owner", "tag", "namespace"];

/** The selected value of each facet; "" selects what has no value. */
export function selectedIn(params: URLSearchParams): Partial<Record<Facet, string>> {
  const selected: Partial<Record<Facet, string>> = {};
  for (const facet of FACETS) {
    const value = params.get(facet);
    if (value !== null) selected[facet] = value;
  }
  return selected;
}

/** The same address with other parameters, from the first page; null removes a parameter. */
export function changed(address: URL, changes: Record<string, string | null>): string {
  const params = new URLSearchParams(address.search);
  params.delete("after");
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) params.delete(name);
    else params.set(name, value);
  }
  return addressWith(address.pathname, params);
}

/** The same list without filters. */
export function withoutFilters(address: URL): string {
  return changed(address, { ...Object.fromEntries(FACETS.map((facet) => [facet, null])), name: null });
}

/** The cursors of the pages before and at the shown one; none on the first page. */
export function cursorsIn(params: URLSearchParams): string[] {
  return params.getAll("after");
}

/** The same list at the page after the last of some cursors. */
export function atPage(address: URL, cursors: readonly string[]): string {
  const params = new URLSearchParams(address.search);
  params.delete("after");
  for (const cursor of cursors) params.append("after", cursor);
  return addressWith(address.pathname, params);
}

/** The address of a list with filters. */
export function listOf(path: string, filters: Partial<Record<Facet, string>> = {}): string {
  return addressWith(path, new URLSearchParams(filters));
}

function addressWith(path: string, params: URLSearchParams): string {
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** The order in the address if a list has it, or else the list's first. */
export function orderIn<Order extends string>(params: URLSearchParams, orders: readonly [Order, ...Order[]]): Order {
  return orders.find((order) => order === params.get("sort")) ?? orders[0];
}

/** The parameters of the API for an order; a minus reverses it. */
export function sortOf<Sort extends string>(order: Sort | `-${Sort}`): { sort: Sort; reverse: boolean } {
  const reverse = order.startsWith("-");
  return { sort: (reverse ? order.slice(1) : order) as Sort, reverse };
}
