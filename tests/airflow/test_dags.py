"""The DAG files as Airflow reads them; that they run is shown in tests/pipeline."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from commands.environment import child_environ
from lakehouse.settings import REPOSITORY, Settings, load_settings
from spark_jobs import emr

pytestmark = pytest.mark.airflow

TELL = """
import json
TOLD = ["application", "application_args", "application_id", "configuration_overrides",
        "execution_role_arn", "job_driver"]
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import Asset, AssetAll
from openlineage.client.serde import Serde

def names(schedule):
    parts = schedule.objects if isinstance(schedule, AssetAll) else [schedule]
    return [part.name for part in parts if isinstance(part, Asset)]

bag = DagBag()
told = {
    dag.dag_id: {
        "waits_for": names(dag.schedule),
        "params": dag.params.dump(),
        "tasks": {
            task.task_id: {
                "operator": type(task).__name__,
                "told": {name: getattr(task, name, None) for name in TOLD},
                "reads": [table.name for table in getattr(task, "reads", ())],
                "writes": [table.name for table in getattr(task, "writes", ())],
                "events": [
                    {
                        "code": Serde.to_dict(told.job_facets["sourceCodeLocation"]),
                        "outputs": [Serde.to_dict(output) for output in told.outputs],
                    }
                    for told in (
                        task.get_openlineage_facets_on_start(),
                        task.get_openlineage_facets_on_complete(None),
                    )
                ],
            }
            for task in dag.tasks
        },
    }
    for dag in bag.dags.values()
}
print("TOLD" + json.dumps({"errors": bag.import_errors, "dags": told}, default=str))
"""


EMR: dict[str, Any] = {
    "spark": "emr-serverless",
    "lakehouse": "glue",
    "bucket": "my-bucket",
    "aws_account": "123456789012",
    "emr_application_id": "app",
    "emr_role_arn": "arn:aws:iam::123456789012:role/jobs",
    "emr_prefix": "code",
    "forecast_model": "weather",
}


@pytest.fixture(scope="module", params=["local", "emr-serverless"])
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Those of this machine, and others of AWS with the weather model."""
    given = EMR if request.param == EMR["spark"] else {}
    return load_settings(state_dir=tmp_path_factory.mktemp("dags"), **given)


@pytest.fixture(scope="module")
def dags(settings: Settings) -> dict[str, Any]:
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
    dag: str, service: str, dags: dict[str, Any], settings: Settings
) -> None:
    model = settings.forecast_model
    weather = ["nyc_taxi.weather_raw"] if model == "weather" else []
    assert dags[dag]["waits_for"] == [f"nyc_taxi.{service}_taxi_raw", *weather]
    assert dags[dag]["params"]["model"] == model


def test_every_service_is_ingested_by_the_same_tasks(dags: dict[str, Any]) -> None:
    for name in ("yellow_taxi", "green_taxi", "weather"):
        source = name.removesuffix("_taxi")
        assert list(dags[f"ingest_{name}_data"]["tasks"]) == [
            "download",
            "stage",
            "check_staging",
            f"merge_upsert_staging_into_raw_{source}",
        ]


def test_every_task_names_its_dag_file_and_commit(dags: dict[str, Any]) -> None:
    asked = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(asked, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name, dag in dags.items():
        for task in dag["tasks"].values():
            for event in task["events"]:
                code = event["code"]
                assert code["path"] == f"airflow/dags/{name}.py"
                assert code["version"].removesuffix("-dirty") == commit.stdout.strip()
                assert code["url"].endswith(f"/blob/{commit.stdout.strip()}/{code['path']}")
                assert code["repoUrl"]


def test_tables_are_reported_with_their_description_and_pii(dags: dict[str, Any]) -> None:
    raw = dags["ingest_yellow_taxi_data"]["tasks"]["merge_upsert_staging_into_raw_yellow"]
    (output,) = raw["events"][-1]["outputs"]
    assert output["name"].endswith("yellow_taxi_raw")
    assert output["facets"]["documentation"]["description"].startswith("Trips of yellow taxis")
    tagged = {(tag["field"], tag["key"]) for tag in output["facets"]["tags"]["tags"]}
    assert tagged == {
        (column, "pii") for column in ("tpep_dropoff_datetime", "dolocationid", "tip_amount")
    }


PARTITIONS = "{{ ti.xcom_pull(task_ids='download') | tojson }}"


def _spark_tasks() -> dict[str, dict[str, dict[str, list[str]]]]:
    """By DAG and task: what each is to tell `spark_jobs/run.py`, to read and to write."""
    expire = {"arguments": ["tables", "expire_snapshots"], "reads": [], "writes": []}
    expected = {"maintain_tables": {"expire_snapshots": expire}}
    for source in ("yellow", "green", "weather"):
        prefix = "weather" if source == "weather" else f"{source}_taxi"
        staging, raw = f"{prefix}_staging", f"{prefix}_raw"
        quarantine = [] if source == "weather" else [f"{prefix}_quarantine"]
        expected[f"ingest_{prefix}_data"] = {
            task: {"arguments": [source, job, PARTITIONS], "reads": reads, "writes": writes}
            for task, job, reads, writes in (
                ("stage", "stage", [], [staging, *quarantine]),
                ("check_staging", "check_staging", [staging], []),
                (f"merge_upsert_staging_into_raw_{source}", "merge", [staging], [raw]),
            )
        }
    return expected


def test_every_spark_task_tells_the_same_job_wherever_spark_runs(
    dags: dict[str, Any], settings: Settings
) -> None:
    is_emr = settings.spark == "emr-serverless"
    kind = "EmrJobOperator" if is_emr else "SparkJobOperator"
    found: dict[str, Any] = {}
    for dag, dag_told in dags.items():
        for task, each in dag_told["tasks"].items():
            if each["operator"] == kind:
                told = each["told"]
                found.setdefault(dag, {})[task] = {
                    "arguments": _of_emr(told, settings) if is_emr else _of_submit(told),
                    "reads": each["reads"],
                    "writes": each["writes"],
                }
    assert found == _spark_tasks()
    others = {e["operator"] for told in dags.values() for e in told["tasks"].values()} - {kind}
    assert others == {"DownloadOperator", "FlowOperator"}


def _of_emr(told: dict[str, Any], settings: Settings) -> list[str]:
    """The arguments of a task on EMR Serverless, once all else that it is told is right."""
    assert told["application_id"] == settings.emr_application_id
    assert told["execution_role_arn"] == settings.emr_role_arn
    # More than these: what has a default, and Airflow was told all the same.
    assert _properties(emr.configuration(settings)) <= _properties(told["configuration_overrides"])
    submit = told["job_driver"]["sparkSubmit"]
    assert submit["entryPoint"] == "s3://my-bucket/code/main.py"
    return list(submit["entryPointArguments"])


def _of_submit(told: dict[str, Any]) -> list[str]:
    assert told["application"] == str(REPOSITORY / "spark_jobs" / "run.py")
    return list(told["application_args"])


def _properties(configuration: dict[str, Any]) -> set[tuple[str, str]]:
    (defaults,) = configuration["applicationConfiguration"]
    return set(defaults["properties"].items())
