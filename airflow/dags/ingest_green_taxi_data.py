"""Load NYC green taxi trips from TLC's monthly Parquet files into `green_taxi_raw`."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import every, ingest_chain, ingest_params

from lakehouse.descriptions import INGESTION
from lakehouse.sources import GREEN

with DAG(
    dag_id="ingest_green_taxi_data",
    description=__doc__,
    schedule=every("@monthly"),
    default_args={"owner": INGESTION},
    catchup=False,
    max_active_runs=1,
    params=ingest_params(),
    tags=["ingest", "taxi"],
    doc_md=__doc__,
):
    ingest_chain(GREEN)
