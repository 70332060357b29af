"""The DAG files as Airflow reads them; that they run is shown in tests/pipeline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands.environment import child_environ
from lakehouse.settings import REPOSITORY, ForecastModel, load_settings

pytestmark = pytest.mark.airflow

TELL = """
import json
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import Asset, AssetAll

def names(schedule):
    parts = schedule.objects if isinstance(schedule, AssetAll) else [schedule]
    return [part.name for part in parts if isinstance(part, Asset)]

bag = DagBag()
told = {
    dag.dag_id: {
        "waits_for": names(dag.schedule),
        "params": dag.params.dump(),
        "tasks": [task.task_id for task in dag.tasks],
    }
    for dag in bag.dags.values()
}
print("TOLD" + json.dumps({"errors": bag.import_errors, "dags": told}, default=str))
"""


@pytest.fixture(scope="module", params=["seasonal_naive", "weather"])
def model(request: pytest.FixtureRequest) -> ForecastModel:
    name: ForecastModel = request.param
    return name


@pytest.fixture(scope="module")
def dags(model: ForecastModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    state: Path = tmp_path_factory.mktemp("dags")
    settings = load_settings(state_dir=state, forecast_model=model)
    done = subprocess.run(
        [sys.executable, "-c", TELL],
        cwd=REPOSITORY,
        env=child_environ(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "TOLD" in done.stdout, done.stderr[-3000:]
    told = json.loads(done.stdout.rpartition("TOLD")[2])
    assert told["errors"] == {}
    dags: dict[str, Any] = told["dags"]
    return dags


@pytest.mark.parametrize(
    ("dag", "service"),
    [("train_forecast_model", "yellow"), ("train_green_forecast_model", "green")],
)
def test_a_training_waits_for_what_its_model_needs(
    dag: str, service: str, dags: dict[str, Any], model: ForecastModel
) -> None:
    weather = ["nyc_taxi.weather_raw"] if model == "weather" else []
    assert dags[dag]["waits_for"] == [f"nyc_taxi.{service}_taxi_raw", *weather]
    assert dags[dag]["params"]["model"] == model


def test_every_service_is_ingested_by_the_same_tasks(dags: dict[str, Any]) -> None:
    for name in ("yellow_taxi", "green_taxi", "weather"):
        source = name.removesuffix("_taxi")
        assert dags[f"ingest_{name}_data"]["tasks"] == [
            "download",
            "stage",
            "check_staging",
            f"merge_upsert_staging_into_raw_{source}",
        ]
