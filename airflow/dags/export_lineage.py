"""Export the lineage as Parquet tables, for Spark, DuckDB or pandas."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import every, export_task

from lakehouse.descriptions import INGESTION

with DAG(
    dag_id="export_lineage",
    description=__doc__,
    schedule=every("@daily"),
    default_args={"owner": INGESTION},
    catchup=False,
    max_active_runs=1,
    tags=["lineage"],
    doc_md=__doc__,
):
    export_task(
        "export_parquet", doc="Write the tables of docs/reference/parquet.md to the state folder."
    )
