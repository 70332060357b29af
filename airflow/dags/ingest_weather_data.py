"""Load daily weather from NOAA's county averages into `weather_raw`."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import every, ingest_chain, ingest_params

from lakehouse.descriptions import INGESTION
from lakehouse.sources import WEATHER

with DAG(
    dag_id="ingest_weather_data",
    description=__doc__,
    schedule=every("@daily"),
    default_args={"owner": INGESTION},
    catchup=False,
    max_active_runs=1,
    params=ingest_params(),
    tags=["ingest", "weather"],
    doc_md=__doc__,
):
    ingest_chain(WEATHER)
