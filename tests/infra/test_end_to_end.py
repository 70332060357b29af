"""End-to-end test on the AWS stand-in: create, load on EMR Serverless, train, lineage, destroy.

The Spark jobs, Airflow's task runner, the flow and the lineage server are real.
"""

from __future__ import annotations

import io
import json
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import yaml
from moto.emrserverless.models import EMRServerlessBackend, JobRun

from commands import package
from commands.emr import emr_package
from commands.environment import child_environ, script
from commands.infra import create_infra, destroy_infra, infra_status
from commands.processes import Service
from commands.services import (
    lineage_caught_up,
    lineage_delivered,
    lineage_ready,
    start_headwater,
)
from headwater.collect.logs import events_in
from infra.aws import Aws, connect
from infra.proxy_local.datazone import DataZoneServer
from lakehouse.catalog import open_catalog
from lakehouse.names import Table
from lakehouse.settings import REPOSITORY, Settings
from spark_jobs.emr import configuration
from tests.conftest import train
from tests.infra import stand_in_resources
from tests.infra.conftest import isolate
from tests.infra.stand_in_emr import LocalEmr
from tests.pipeline.conftest import free_ports
from tests.pipeline.test_pipeline import EDGES

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.airflow, pytest.mark.metaflow]

MONTH = "2025-04"
DAG = "ingest_yellow_taxi_data"
GLUE = "arn:aws:glue:us-east-1:123456789012"
WITHOUT_SERVER = "yellow.check_staging"
"""The job without a lineage server. It writes its events to the driver's log."""


@dataclass
class Cloud:
    """The created resources and clients."""

    settings: Settings
    aws: Aws
    emr: LocalEmr
    datazone: DataZoneServer
    logged: list[dict[str, Any]]
    """Events in the log of the job without a lineage server."""
    sent: set[str]
    """Jobs in the lineage server before it ingested `logged`."""

    def get(self, path: str, **params: Any) -> Any:
        """Return a response of the lineage server."""
        answer = httpx.get(self.settings.headwater_url + path, params=params, timeout=30)
        return answer.raise_for_status().json()


def _created(settings: Settings) -> Settings:
    """Create all parts and return the settings that create-infra prints."""
    said = io.StringIO()
    with redirect_stdout(said):
        create_infra(settings, dry_run=False, yes=True, with_="emr-serverless,datazone")
    printed = yaml.safe_load(said.getvalue().rpartition("settings.yaml:")[2])
    return settings.model_copy(update={**printed, "spark": "emr-serverless"})


def _airflow(settings: Settings, *arguments: str) -> None:
    done = subprocess.run(
        [script("airflow"), *arguments],
        cwd=REPOSITORY,
        env=child_environ(settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-6000:]


def _start_job(settings: Settings, emr: LocalEmr) -> Callable[..., JobRun]:
    """Return a StartJobRun that configures one job as if EMR_LINEAGE_URL were empty."""
    start = emr.start
    without_url = settings.model_copy(update={"emr_lineage_url": ""})
    before, after = (
        configuration(of)["applicationConfiguration"][0]["properties"]
        for of in (settings, without_url)
    )

    def start_job_run(backend: EMRServerlessBackend, **parameters: Any) -> JobRun:
        if parameters["name"] == WITHOUT_SERVER:
            (defaults,) = parameters["configuration_overrides"]["applicationConfiguration"]
            of_provider = defaults["properties"].items() - before.items()  # the lineage parent
            defaults["properties"] = dict(of_provider) | after
        return start(backend, **parameters)

    return start_job_run


def _logged(emr: LocalEmr) -> list[dict[str, Any]]:
    """Return the events in the log of the job without a lineage server."""
    (job,) = (job for job in emr.jobs if job.name == WITHOUT_SERVER)
    log = (emr.logs / f"stdout-{job.id}.log").read_bytes().splitlines()
    return [json.loads(event) for line in log for event in events_in(line)]


@pytest.fixture(scope="module")
def cloud(
    stand_in: str, make_settings: Callable[..., Settings], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cloud]:
    """Create the stacks, load a month with the DAG on EMR Serverless, and train on it."""
    folder = tmp_path_factory.mktemp("cloud")
    services: list[Service] = []
    datazone = DataZoneServer()
    threading.Thread(target=datazone.serve_forever).start()
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, folder)
        httpx.post(f"{stand_in}/moto-api/reset").raise_for_status()
        stand_in_resources.DATAZONE.clear()
        try:
            patch.setenv("AWS_ENDPOINT_URL_DATAZONE", datazone.url)
            port = free_ports(4)
            settings = _created(
                make_settings(
                    "cloud",
                    aws_endpoint_url=stand_in,
                    generator_rows=1_000,
                    airflow_port=port,
                    headwater_port=port + 3,
                    lineage_backend="datazone",
                    emr_lineage_url=f"http://localhost:{port + 3}",
                )
            )
            aws = connect(settings)
            stand_in_resources.s3_of(aws.account).delete_bucket_policy(settings.bucket)
            emr = LocalEmr(settings, aws, folder / "emr")
            patch.setattr(EMRServerlessBackend, "start_job_run", _start_job(settings, emr))
            services.append(start_headwater(settings))
            services[-1].wait_until(lambda: lineage_ready(settings), 60)
            patch.setattr(package, "LEVEL", 1)
            emr_package(settings)
            _airflow(settings, "db", "migrate")
            _airflow(settings, "dags", "test", DAG, "--conf", json.dumps({"months": [MONTH]}))
            cloud = Cloud(settings, aws, emr, datazone, _logged(emr), set())
            cloud.sent |= {
                run["job"]["name"] for run in cloud.get("/api/v2/runs", limit=500)["items"]
            }
            for event in cloud.logged:
                url = f"{settings.headwater_url}/api/v1/lineage"
                httpx.post(url, json=event).raise_for_status()
            done = train(settings, "--lookback_days", "20", "--predict_horizon_hours", "3")
            assert done.returncode == 0, done.stdout[-4000:]
            services[-1].wait_until(lambda: lineage_caught_up(settings), 60)
            services[-1].wait_until(lambda: lineage_delivered(settings), 60)
            yield cloud
        finally:
            datazone.shutdown()
            for service in services:
                service.stop()


def test_each_spark_task_is_a_successful_emr_job(cloud: Cloud) -> None:
    jobs = [(job.name, job.state, job.state_details) for job in cloud.emr.jobs]
    assert [(name, state) for name, state, _ in jobs] == [
        ("yellow.stage", "SUCCESS"),
        ("yellow.check_staging", "SUCCESS"),
        ("yellow.merge", "SUCCESS"),
    ], jobs


def test_tables_contain_the_month_and_forecasts(cloud: Cloud) -> None:
    catalog = open_catalog(cloud.settings)
    raw = catalog.load_table(Table("yellow_taxi_raw").identifier)
    assert raw.location().startswith(f"s3://{cloud.settings.bucket}/warehouse/")
    assert raw.scan().to_arrow().num_rows >= 1_000
    forecasts = catalog.load_table(Table("yellow_rides_hourly_forecast").identifier)
    assert forecasts.scan().to_arrow().num_rows > 0


def _plain(cloud: Cloud, dataset: dict[str, str]) -> str:
    """Return a dataset's name in the design's table, and check that a table has its Glue ARN."""
    if dataset["name"].startswith("table/"):
        assert dataset["namespace"] == GLUE
        return dataset["name"].removeprefix("table/nyc_taxi/")
    if dataset["namespace"] == f"s3://{cloud.settings.bucket}":
        return "taxi landing file" if dataset["name"].startswith("landing/yellow/") else "?"
    return "taxi URL" if dataset["namespace"] == "file" else dataset["name"]


def test_lineage_matches_the_design_with_glue_names(cloud: Cloud) -> None:
    edges: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for edge in cloud.get("/api/v2/edges", level="task", kind="data")["items"]:
        name = _plain(cloud, edge["dataset"])
        edges[edge["job"]["name"]][edge["direction"] == "writes"].add(name)
    assert dict(edges) == {job: ends for job, ends in EDGES.items() if "weather" not in job}


def test_each_table_is_one_node(cloud: Cloud) -> None:
    for table in ("yellow_taxi_raw", "yellow_rides_hourly_actuals"):
        results = cloud.get("/api/v1/search", q=table)["results"]
        nodes = {result["nodeId"] for result in results if result["type"] == "DATASET"}
        assert nodes == {f"dataset:{GLUE}:table/nyc_taxi/{table}"}


def test_spark_applications_are_children_of_airflow_tasks(cloud: Cloud) -> None:
    for job, task in (
        ("yellow_taxi_stage", "stage"),
        ("yellow_taxi_check_staging", "check_staging"),
        ("yellow_taxi_merge", "merge_upsert_staging_into_raw_yellow"),
    ):
        runs = cloud.get("/api/v2/runs", limit=500)["items"]
        (task_run,) = {r["runId"] for r in runs if r["job"]["name"] == f"{DAG}.{task}"}
        tree = cloud.get("/api/v2/runtree", run=task_run)
        assert job in {child["job"]["name"] for child in tree["children"]}


def test_datazone_receives_tables_by_arn(cloud: Cloud) -> None:
    names = {
        (dataset["namespace"], dataset["name"])
        for event in cloud.datazone.accepted
        for side in ("inputs", "outputs")
        for dataset in event.body.get(side, [])
    }
    tables = {(namespace, name) for namespace, name in names if "yellow_taxi_raw" in name}
    assert tables == {(GLUE, "table/nyc_taxi/yellow_taxi_raw")}, names


def test_events_without_a_server_are_in_the_drivers_log(cloud: Cloud) -> None:
    own = {"yellow_taxi_check_staging", "yellow_taxi_check_staging.checks"}
    assert not own & cloud.sent
    assert "yellow_taxi_stage" in cloud.sent
    for state in ("START", "COMPLETE"):
        jobs = {event["job"]["name"] for event in cloud.logged if event["eventType"] == state}
        assert own <= jobs, state  # the first is sent by Spark, the other by Python


# Last, because it deletes everything.
def test_destroy_deletes_everything(cloud: Cloud) -> None:
    assert infra_status(cloud.settings) == 0
    destroy_infra(cloud.settings, dry_run=False, yes=True)
    aws = cloud.aws
    assert aws.s3.list_buckets()["Buckets"] == []
    assert aws.glue.get_databases()["DatabaseList"] == []
    assert (
        aws.cloudformation.list_stacks(StackStatusFilter=["CREATE_COMPLETE"])["StackSummaries"]
        == []
    )
    assert {a["state"] for a in aws.emr.list_applications()["applications"]} == {"TERMINATED"}
    assert stand_in_resources.DATAZONE == {}
