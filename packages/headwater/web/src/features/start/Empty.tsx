import { clsx } from "clsx";
import { useState, type ReactNode } from "react";
import { IS_KEYED, PROGRAM, TOUR_ADDRESS } from "../../api/base";
import { Command } from "../../components/Copy";
import { uuid } from "../../graph/words";
import { START } from "../../strings/start";
import cards from "../../components/card.module.css";
import styles from "./start.module.css";
import controls from "../../components/controls.module.css";

const PATH = "/api/v1/lineage";
const VARIABLE = "HEADWATER_API_KEY";
const SCOPE = "write";
const EMPTY = START.empty;

/** Return a command that sends one event of a job with one input and one output. */
function firstEvent(): string {
  const event = {
    eventType: "COMPLETE",
    eventTime: new Date().toISOString(),
    producer: "https://example.org/by-hand",
    schemaURL: "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    // crypto.randomUUID exists on https and localhost only.
    run: { runId: uuid(crypto.getRandomValues(new Uint8Array(16))) },
    job: { namespace: "demo", name: "first_job" },
    inputs: [{ namespace: "demo", name: "source_table" }],
    outputs: [{ namespace: "demo", name: "target_table" }],
  };
  const key = IS_KEYED ? ` -H "Authorization: Bearer $${VARIABLE}"` : "";
  return `curl ${location.origin}${PATH} -H 'Content-Type: application/json'${key} \\\n  -d '${JSON.stringify(event)}'`;
}

/** Instructions for a server without events. */
export function Empty(): ReactNode {
  const [command] = useState(firstEvent);
  return (
    <section className={clsx(cards.card, styles.empty)} aria-labelledby="empty">
      <h2 id="empty">{EMPTY.title}</h2>
      <p>
        {EMPTY.point[0]}
        <code>{location.origin}</code>
        {EMPTY.point[1]}
        <code>{PATH}</code>
        {EMPTY.point[2]}
      </p>
      <Command text={command} />
      {IS_KEYED && (
        <p>
          {EMPTY.key[0]}
          <code>{SCOPE}</code>
          {EMPTY.key[1]}
          <code>{VARIABLE}</code>
          {EMPTY.key[2]}
          <code>{EMPTY.addKey(PROGRAM, SCOPE)}</code>
          {EMPTY.key[3]}
        </p>
      )}
      <p>
        {EMPTY.harvest[0]}
        <code>{EMPTY.sources(PROGRAM)}</code>
        {EMPTY.harvest[1]}
      </p>
      <p>
        {EMPTY.tour[0]}
        <a className={controls.link} href={TOUR_ADDRESS}>
          {START.tour}
        </a>
        {EMPTY.tour[1]}
        {START.tourAbout}
        {EMPTY.tour[2]}
        <a className={controls.link} href="/sample/">
          {EMPTY.sample}
        </a>
        {EMPTY.sampleAbout}
      </p>
    </section>
  );
}
