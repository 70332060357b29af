"""Train the forecast model with Metaflow, each time that taxi data is new."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import asset, flow_task

from lakehouse.names import Table
from lakehouse.settings import REPOSITORY

with DAG(
    dag_id="train_forecast_model",
    description=__doc__,
    schedule=asset(Table("yellow_taxi_raw")),
    catchup=False,
    max_active_runs=1,
    tags=["train"],
    doc_md=__doc__,
):
    flow_task(
        "run_flow",
        flow=REPOSITORY / "metaflow_flows" / "train_forecast_model" / "flow.py",
        doc="Run TrainForecastModelFlow.",
    )
