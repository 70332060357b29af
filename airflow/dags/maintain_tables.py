"""Maintain the tables: old snapshots go, with the files that nothing else names."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import every, spark_task

with DAG(
    dag_id="maintain_tables",
    description=__doc__,
    schedule=every("@weekly"),
    catchup=False,
    max_active_runs=1,
    tags=["maintenance"],
    doc_md=__doc__,
):
    spark_task(
        "expire_snapshots",
        job=("tables", "expire_snapshots"),
        args=(),
        doc="Keep every moment of the last days, and what training runs have pinned.",
    )
