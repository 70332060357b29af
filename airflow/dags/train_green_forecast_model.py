"""Train the forecast model for green taxis with Metaflow when new data is loaded."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import training_params, training_schedule, training_tasks

from lakehouse.descriptions import FORECASTING
from lakehouse.sources import GREEN

with DAG(
    dag_id="train_green_forecast_model",
    description=__doc__,
    schedule=training_schedule(GREEN),
    default_args={"owner": FORECASTING},
    catchup=False,
    max_active_runs=1,
    params=training_params(),
    tags=["train"],
    doc_md=__doc__,
):
    training_tasks(GREEN)
