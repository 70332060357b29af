/** The state of a list in its address: filters, order and page. */
import type { Answer } from "../../api/client";
import type { Health } from "../../components/HealthState";
import { COMPONENTS } from "../../strings/components";

export type Facets = NonNullable<Answer<"datasets">["facets"]>;
type ProblemFacets = Answer<"problems">["facets"];
export type Facet = keyof Facets | keyof ProblemFacets;

/** Facets of nodes and of problems in display order. */
export const FACETS: readonly (keyof Facets)[] = ["state", "type", "platform", "owner", "tag", "namespace"];
export const PROBLEM_FACETS: readonly (keyof ProblemFacets)[] = ["kind", "owner", "tag", "platform", "age"];

/** Return the selected value of each facet; "" selects items without a value. */
export function selectedIn<Name extends Facet = keyof Facets>(params: URLSearchParams, facets = FACETS as readonly Facet[] as readonly Name[]): Partial<Record<Name, string>> {
  const selected: Partial<Record<Name, string>> = {};
  for (const facet of facets) {
    const value = params.get(facet);
    if (value !== null) selected[facet] = value;
  }
  return selected;
}

/** Return the selected state if it is the state of a node; undefined for the state of a run. */
export function nodeStateIn(state: string | undefined): Health["state"] | undefined {
  return (Object.keys(COMPONENTS.health) as Health["state"][]).find((name) => name === state);
}

/** Return the address of the first page with changed parameters; null removes a parameter. */
export function changed(address: URL, changes: Record<string, string | null>): string {
  const params = new URLSearchParams(address.search);
  params.delete("after");
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) params.delete(name);
    else params.set(name, value);
  }
  return addressWith(address.pathname, params);
}

/** Return the address of the list without filters. */
export function withoutFilters(address: URL): string {
  return changed(address, { ...Object.fromEntries([...FACETS, ...PROBLEM_FACETS].map((facet) => [facet, null])), name: null });
}

/** Return the cursors of the pages up to the current one; none on the first page. */
export function cursorsIn(params: URLSearchParams): string[] {
  return params.getAll("after");
}

/** Return the address of the page after the last cursor. */
export function atPage(address: URL, cursors: readonly string[]): string {
  const params = new URLSearchParams(address.search);
  params.delete("after");
  for (const cursor of cursors) params.append("after", cursor);
  return addressWith(address.pathname, params);
}

/** Return the address of a list with filters. */
export function listOf(path: string, filters: Partial<Record<Facet, string>> = {}): string {
  return addressWith(path, new URLSearchParams(filters));
}

function addressWith(path: string, params: URLSearchParams): string {
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** Return the order in the address if it is valid, else the first order. */
export function orderIn<Order extends string>(params: URLSearchParams, orders: readonly [Order, ...Order[]]): Order {
  return orders.find((order) => order === params.get("sort")) ?? orders[0];
}

/** Return the API's parameters for an order; a minus reverses it. */
export function sortOf<Sort extends string>(order: Sort | `-${Sort}`): { sort: Sort; reverse: boolean } {
  const reverse = order.startsWith("-");
  return { sort: (reverse ? order.slice(1) : order) as Sort, reverse };
}
