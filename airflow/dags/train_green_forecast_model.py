"""Train the forecast model of green taxis with Metaflow, each time that their data is new."""

from __future__ import annotations

from airflow.sdk import DAG
from pipeline_tasks import flow_task, training_params, training_schedule

from lakehouse.settings import REPOSITORY
from lakehouse.sources import GREEN

PARAMS = training_params()

with DAG(
    dag_id="train_green_forecast_model",
    description=__doc__,
    schedule=training_schedule(GREEN),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    tags=["train"],
    doc_md=__doc__,
):
    flow_task(
        "run_flow",
        flow=REPOSITORY / "metaflow_flows" / "train_forecast_model" / "flow.py",
        params=list(PARAMS),
        args="--service green",
        doc="Run TrainForecastModelFlow.",
    )
