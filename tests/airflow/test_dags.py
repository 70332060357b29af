"""DAG files as Airflow parses them; tests/pipeline runs them."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from lakehouse.settings import REPOSITORY, Settings, load_settings
from spark_jobs import emr
from tests.airflow.airflow_python import printed_by

pytestmark = pytest.mark.airflow

PARSE = """
import json
JOB_ATTRIBUTES = ["application", "application_args", "application_id", "bash_command",
                  "configuration_overrides", "execution_role_arn", "job_driver"]
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import Asset, AssetAll
from openlineage.client.serde import Serde

def names(schedule):
    parts = schedule.objects if isinstance(schedule, AssetAll) else [schedule]
    return [part.name for part in parts if isinstance(part, Asset)]

bag = DagBag()
dags = {
    dag.dag_id: {
        "waits_for": names(dag.schedule),
        "params": dag.params.dump(),
        "tags": sorted(dag.tags),
        "owners": sorted({task.owner for task in dag.tasks}),
        "tasks": {
            task.task_id: {
                "operator": type(task).__name__,
                "job": {name: getattr(task, name, None) for name in JOB_ATTRIBUTES},
                "upstream": sorted(task.upstream_task_ids),
                "gated": [table.name for table in getattr(task, "tables", ())],
                "reads": [table.name for table in getattr(task, "reads", ())],
                "writes": [table.name for table in getattr(task, "writes", ())],
                "events": [
                    {
                        "code": Serde.to_dict(facets.job_facets["sourceCodeLocation"]),
                        "outputs": [Serde.to_dict(output) for output in facets.outputs],
                    }
                    for facets in (
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
print("PARSED" + json.dumps({"errors": bag.import_errors, "dags": dags}, default=str))
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
    """Return local settings, or settings for AWS with the weather model."""
    values = EMR if request.param == EMR["spark"] else {}
    return load_settings(state_dir=tmp_path_factory.mktemp("dags"), **values)


@pytest.fixture(scope="module")
def dags(settings: Settings) -> dict[str, Any]:
    parsed = printed_by(PARSE, settings, "PARSED")
    assert parsed["errors"] == {}
    dags: dict[str, Any] = parsed["dags"]
    return dags


@pytest.mark.parametrize(
    ("dag", "service"),
    [("train_forecast_model", "yellow"), ("train_green_forecast_model", "green")],
)
def test_training_waits_for_the_assets_of_its_model(
    dag: str, service: str, dags: dict[str, Any], settings: Settings
) -> None:
    model = settings.forecast_model
    weather = ["nyc_taxi.weather_raw"] if model == "weather" else []
    assert dags[dag]["waits_for"] == [f"nyc_taxi.{service}_taxi_raw", *weather]
    assert dags[dag]["params"]["model"] == model


def test_every_dag_has_an_owner_and_tags(dags: dict[str, Any]) -> None:
    for name, dag in dags.items():
        owner = "forecasting" if name.startswith("train_") else "ingestion"
        assert (dag["owners"], bool(dag["tags"])) == ([owner], True), name
    command = dags["train_forecast_model"]["tasks"]["run_flow"]["job"]["bash_command"]
    assert "run --service yellow --tag domain:taxi " in command


def test_training_follows_the_gate_of_its_tables(dags: dict[str, Any], settings: Settings) -> None:
    weather = ["weather_raw"] if settings.forecast_model == "weather" else []
    for dag, service in (
        ("train_forecast_model", "yellow"),
        ("train_green_forecast_model", "green"),
    ):
        tasks = dags[dag]["tasks"]
        assert tasks["await_provenance"]["gated"] == [f"{service}_taxi_raw", *weather]
        assert tasks["run_flow"]["upstream"] == ["await_provenance"]


def test_every_service_has_the_same_ingest_tasks(dags: dict[str, Any]) -> None:
    for name in ("yellow_taxi", "green_taxi", "weather"):
        source = name.removesuffix("_taxi")
        assert list(dags[f"ingest_{name}_data"]["tasks"]) == [
            "download",
            "stage",
            "check_staging",
            f"merge_upsert_staging_into_raw_{source}",
        ]


def test_task_events_contain_dag_file_and_commit(dags: dict[str, Any]) -> None:
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name, dag in dags.items():
        for task in dag["tasks"].values():
            for event in task["events"]:
                code = event["code"]
                assert code["path"] == f"airflow/dags/{name}.py"
                assert code["version"].removesuffix("-dirty") == commit.stdout.strip()
                assert code["url"].endswith(f"/blob/{commit.stdout.strip()}/{code['path']}")
                assert code["repoUrl"]


def test_table_events_contain_description_and_pii(dags: dict[str, Any]) -> None:
    raw = dags["ingest_yellow_taxi_data"]["tasks"]["merge_upsert_staging_into_raw_yellow"]
    (output,) = raw["events"][-1]["outputs"]
    assert output["name"].endswith("yellow_taxi_raw")
    assert output["facets"]["documentation"]["description"].startswith("Trips of yellow taxis")
    assert output["facets"]["ownership"]["owners"] == [{"name": "ingestion", "type": "OWNER"}]
    tagged = {(tag.get("field"), tag["key"]) for tag in output["facets"]["tags"]["tags"]}
    assert tagged == {(None, "domain")} | {
        (column, "pii") for column in ("tpep_dropoff_datetime", "dolocationid", "tip_amount")
    }


PARTITIONS = "{{ ti.xcom_pull(task_ids='download') | tojson }}"


def _spark_tasks() -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return the expected arguments, inputs and outputs by DAG and task."""
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


def test_spark_tasks_are_equal_locally_and_on_emr(dags: dict[str, Any], settings: Settings) -> None:
    is_emr = settings.spark == "emr-serverless"
    kind = "EmrJobOperator" if is_emr else "SparkJobOperator"
    spark_tasks: dict[str, Any] = {}
    operators = set()
    for name, dag in dags.items():
        for task_id, task in dag["tasks"].items():
            operators.add(task["operator"])
            if task["operator"] == kind:
                job = task["job"]
                spark_tasks.setdefault(name, {})[task_id] = {
                    "arguments": _emr_arguments(job, settings)
                    if is_emr
                    else _submit_arguments(job),
                    "reads": task["reads"],
                    "writes": task["writes"],
                }
    assert spark_tasks == _spark_tasks()
    assert operators == {
        kind,
        "DownloadOperator",
        "FlowOperator",
        "ProvenanceSensor",
        "ShellOperator",
    }


def _emr_arguments(job: dict[str, Any], settings: Settings) -> list[str]:
    """Check the parameters of a task on EMR Serverless and return its arguments."""
    assert job["application_id"] == settings.emr_application_id
    assert job["execution_role_arn"] == settings.emr_role_arn
    # There may be more: settings with default values that were set explicitly.
    assert _properties(emr.configuration(settings)) <= _properties(job["configuration_overrides"])
    submit = job["job_driver"]["sparkSubmit"]
    assert submit["entryPoint"] == "s3://my-bucket/code/main.py"
    return list(submit["entryPointArguments"])


def _submit_arguments(job: dict[str, Any]) -> list[str]:
    assert job["application"] == str(REPOSITORY / "spark_jobs" / "run.py")
    return list(job["application_args"])


def _properties(configuration: dict[str, Any]) -> set[tuple[str, str]]:
    (defaults,) = configuration["applicationConfiguration"]
    return set(defaults["properties"].items())
