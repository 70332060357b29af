"""Expire old snapshots of the tables and delete the files that only they use."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import every, spark_task

from lakehouse.descriptions import INGESTION

with DAG(
    dag_id="maintain_tables",
    description=__doc__,
    schedule=every("@weekly"),
    default_args={"owner": INGESTION},
    catchup=False,
    max_active_runs=1,
    tags=["maintenance"],
    doc_md=__doc__,
):
    spark_task(
        "expire_snapshots",
        job=("tables", "expire_snapshots"),
        args=(),
        doc="Expire snapshots, except those of the last days and those pinned by training runs.",
    )
