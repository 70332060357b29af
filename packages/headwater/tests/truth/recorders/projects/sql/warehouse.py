"""Run statements in DuckDB and report each one as an integration with openlineage-sql does."""

import os
from datetime import UTC, datetime

import duckdb
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset, schema_dataset, sql_job
from openlineage.client.uuid import generate_new_uuid
from openlineage_sql import parse

NAMESPACE = f"duckdb://{os.environ['NAMESPACE']}.duckdb"
SETUP = """
create table events as
select * from (values
  (1, 'eu', 'click', 10.0, timestamp '2026-01-01'),
  (2, 'us', 'sale', 20.0, timestamp '2026-01-02'),
  (3, 'eu', 'sale', 30.0, timestamp '2026-01-03')) t(id, region, kind, amount, happened);
create table regions (code text, name text);
insert into regions values ('eu', 'Europe'), ('us', 'United States');
create table totals (label text, total double);
create table big (id int, amount double);
"""
STATEMENTS = {
    "latest": """
create or replace table latest as
select id, region, amount from events
qualify row_number() over (partition by region order by happened desc) = 1
""",
    "totals": """
insert into totals (label, total)
with regions as (select region, sum(amount) as s from events group by region)
select upper(region), s from regions
""",
    "named": """
create view named as
select l.id, r.name from latest l left join regions r on r.code = l.region
""",
    "big": """
create temp table scratch as select id, amount from latest where amount > 5;
insert into big select id, amount from scratch
""",
    "kinds": """
create table kinds as
select kind, count(*) as n from events group by kind
union all
select 'total', count(*) from events where amount > 0
""",
}


def dataset(kind, database, table, lineage=()):
    """Return a table with its schema, and the column lineage of openlineage-sql."""
    name = f"warehouse.main.{table}"
    rows = database.execute(
        "select column_name, data_type from information_schema.columns where table_name = ?",
        [table],
    ).fetchall()
    fields = [schema_dataset.SchemaDatasetFacetFields(name=row[0], type=row[1]) for row in rows]
    facets = {"schema": schema_dataset.SchemaDatasetFacet(fields=fields)} if fields else {}
    columns = {
        item.descendant.name: column_lineage_dataset.Fields(
            inputFields=[
                column_lineage_dataset.InputField(
                    namespace=NAMESPACE,
                    name=f"warehouse.main.{source.origin.name}",
                    field=source.name,
                )
                for source in item.lineage
                if source.origin
            ]
        )
        for item in lineage
    }
    if columns:
        facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(fields=columns)
    return kind(namespace=NAMESPACE, name=name, facets=facets)


def main():
    """Run and report all statements."""
    client = OpenLineageClient()
    database = duckdb.connect()
    database.execute(SETUP)
    for name, statement in STATEMENTS.items():
        run = Run(runId=str(generate_new_uuid()))
        query = sql_job.SQLJobFacet(query=statement.strip())
        job = Job(namespace=os.environ["NAMESPACE"], name=name, facets={"sql": query})
        started = datetime.now(UTC)
        database.execute(statement)
        meta = parse(statement.strip().split(";"), dialect="generic")
        inputs = [dataset(InputDataset, database, table.name) for table in meta.in_tables]
        outputs = [
            dataset(OutputDataset, database, table.name, meta.column_lineage)
            for table in meta.out_tables
        ]
        for state, moment in ((RunState.START, started), (RunState.COMPLETE, None)):
            at = (moment or datetime.now(UTC)).isoformat()
            client.emit(
                RunEvent(
                    eventTime=at,
                    run=run,
                    job=job,
                    producer="https://example.org/warehouse",
                    inputs=inputs,
                    outputs=outputs,
                    eventType=state,
                )
            )


main()
