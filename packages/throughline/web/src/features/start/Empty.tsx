import type { ReactNode } from "react";
import { Command } from "../../components/Copy";

/** One event of a job that makes one table of another. */
function firstEvent(): string {
  const event = {
    eventType: "COMPLETE",
    eventTime: new Date().toISOString(),
    producer: "https://example.org/by-hand",
    schemaURL: "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    run: { runId: crypto.randomUUID() },
    job: { namespace: "demo", name: "first_job" },
    inputs: [{ namespace: "demo", name: "source_table" }],
    outputs: [{ namespace: "demo", name: "target_table" }],
  };
  return `curl ${location.origin}/api/v1/lineage -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(event)}'`;
}

/** What to do where nothing is known yet. */
export function Empty(): ReactNode {
  return (
    <section className="card empty" aria-labelledby="empty">
      <h2 id="empty">No lineage yet</h2>
      <p>
        Point any OpenLineage producer (Spark, Airflow, dbt, Metaflow, Flink) at <code>{location.origin}</code>, path{" "}
        <code>/api/v1/lineage</code>. What arrives is shown here at once. To see it work, send one event by hand:
      </p>
      <Command text={firstEvent()} />
      <p>
        Or look around first:{" "}
        <a className="link" href="/sample/">
          open a sample lineage
        </a>
        , two weeks of a made-up pipeline, kept apart from yours.
      </p>
    </section>
  );
}
