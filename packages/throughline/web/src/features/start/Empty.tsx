import { useState, type ReactNode } from "react";
import { IS_KEYED, PROGRAM, TOUR_ADDRESS } from "../../api/base";
import { Command } from "../../components/Copy";
import { uuid } from "../../graph/words";
import { START } from "../../strings/start";

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
  const key = IS_KEYED ? ` -H "Authorization: Bearer $THROUGHLINE_API_KEY"` : "";
  return `curl ${location.origin}/api/v1/lineage -H 'Content-Type: application/json'${key} \\\n  -d '${JSON.stringify(event)}'`;
}

/** Instructions for a server without events. */
export function Empty(): ReactNode {
  const [command] = useState(firstEvent);
  return (
    <section className="card empty" aria-labelledby="empty">
      <h2 id="empty">No lineage yet</h2>
      <p>
        Point any OpenLineage producer (Spark, Airflow, dbt, Metaflow, Flink) at <code>{location.origin}</code>, path{" "}
        <code>/api/v1/lineage</code>. New events appear here immediately. To try it, send one event:
      </p>
      <Command text={command} />
      {IS_KEYED && (
        <p>
          The command needs an API key with the scope <code>write</code> in <code>THROUGHLINE_API_KEY</code>. Create one with <code>{PROGRAM} keys add NAME --scope write</code>.
        </p>
      )}
      <p>
        Import lineage from existing logs and catalogs: <code>{PROGRAM} harvest --help</code> lists the sources.
      </p>
      <p>
        New to lineage?{" "}
        <a className="link" href={TOUR_ADDRESS}>
          {START.tour}
        </a>
        , {START.tourAbout}. Or explore it yourself:{" "}
        <a className="link" href="/sample/">
          open a sample lineage
        </a>
        , two weeks of an example pipeline, separate from your lineage.
      </p>
    </section>
  );
}
