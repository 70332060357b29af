import type { ReactNode } from "react";
import { DETAILS } from "../../strings/details";
import details from "./details.module.css";
import messages from "../../components/message.module.css";

/** A list of names with values, without empty values. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }): ReactNode {
  const reported = facts.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return (
    <dl className={details.facts}>
      {reported.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Facets as reported, each expandable. */
export function Facets({ facets }: { facets: Record<string, unknown> }): ReactNode {
  const names = Object.keys(facets).sort();
  if (names.length === 0) return <p className={messages.waiting}>{DETAILS.noFacets}</p>;
  return names.map((name) => (
    <details key={name} className={details.facet}>
      <summary>{name}</summary>
      <pre tabIndex={0} role="region" aria-label={name}>{JSON.stringify(facets[name], null, 2)}</pre>
    </details>
  ));
}
