"""The producer settings in docs/how-to/proxy.md, tested with real producers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakehouse.settings import Settings

from .conftest import KEY, Proxy
from .guide import block

pytestmark = pytest.mark.server

SPARK = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(3).write.parquet(sys.argv[1] + "/numbers")
spark.read.parquet(sys.argv[1] + "/numbers").groupBy().sum("id").write.parquet(sys.argv[1] + "/sum")
spark.stop()
"""

AIRFLOW = """
from airflow.providers.common.compat.openlineage.facet import Dataset
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter
OpenLineageAdapter().complete_task(
    run_id="01890a5d-ac96-774b-bcce-b302099a8057", job_name="dag.task",
    end_time="2026-11-21T08:00:00Z",
    task=OperatorLineage(inputs=[Dataset("s3://lake", "a")], outputs=[Dataset("s3://lake", "b")]),
    nominal_start_time=None, nominal_end_time=None, owners=["me"], tags=None, job_description=None,
)
"""


def _block(proxy: Proxy, heading: str) -> str:
    """Return the first code block under a heading, with this proxy's URL and key."""
    text = block(heading).replace("https://PROXY", proxy.url.removesuffix("/api/v1/lineage"))
    return re.sub(r"\bKEY\b", KEY, text)


@pytest.fixture
def proxy(make_proxy: Callable[..., Proxy]) -> Proxy:
    """Start a proxy with a worker."""
    proxy = make_proxy(is_fifo=True)
    proxy.start("worker")
    return proxy


def _arrived(proxy: Proxy, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait for an event in DataZone that meets a condition, and return it."""
    with proxy.datazone.changed:
        assert proxy.datazone.changed.wait_for(
            lambda: any(condition(event.body) for event in proxy.datazone.accepted), 60
        ), [event.body["job"] for event in proxy.datazone.accepted]
    return next(event.body for event in proxy.datazone.accepted if condition(event.body))


def _run(command: list[str], **options: Any) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.spark
def test_glue_parameters_send_spark_events_to_the_proxy(
    proxy: Proxy, make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    from spark_jobs.runtime import java_home
    from spark_jobs.session import submit_conf

    settings = make_settings("glue")
    options = json.loads(_block(proxy, "Spark"))["--conf"].split(" --conf ")
    conf = submit_conf(settings) | dict(pair.split("=", 1) for pair in options)
    program = tmp_path / "job.py"
    program.write_text(SPARK)
    submit = [str(Path(sys.executable).with_name("spark-submit"))]
    for key, value in (conf | {"spark.master": "local[1]"}).items():
        submit += ["--conf", f"{key}={value}"]
    environ = os.environ | {
        "JAVA_HOME": str(java_home(settings)),
        "PYSPARK_PYTHON": sys.executable,
    }
    _run([*submit, str(program), str(tmp_path)], cwd=tmp_path, env=environ)
    event = _arrived(
        proxy,
        lambda body: (
            body["eventType"] == "COMPLETE"
            and [dataset["name"] for dataset in body["outputs"]] == [f"{tmp_path}/sum"]
        ),
    )
    assert event["job"]["namespace"] == "my_glue"
    assert [dataset["name"] for dataset in event["inputs"]] == [f"{tmp_path}/numbers"]
    assert proxy.letters() == []


def test_airflow_transport_sends_events_to_the_proxy(proxy: Proxy, tmp_path: Path) -> None:
    exports = _block(proxy, "Airflow")
    environ = os.environ | {"AIRFLOW_HOME": str(tmp_path)}
    _run(
        ["bash", "-euc", f'{exports}\nexec "$0" -c "$1"', sys.executable, AIRFLOW],
        cwd=tmp_path,
        env=environ,
    )
    event = _arrived(proxy, lambda body: body["job"]["name"] == "dag.task")
    assert event["job"]["namespace"] == "my_airflow"
    assert [dataset["name"] for dataset in event["outputs"]] == ["b"]


def test_dbt_environment_sends_events_to_the_proxy(proxy: Proxy, dbt: Path, tmp_path: Path) -> None:
    profile = {"type": "duckdb", "path": str(tmp_path / "lake.duckdb")}
    files = {
        "dbt_project.yml": {"name": "rides", "profile": "rides"},
        "profiles.yml": {"rides": {"target": "here", "outputs": {"here": profile}}},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))  # JSON is YAML
    models = tmp_path / "models"
    models.mkdir()
    (models / "trips.sql").write_text("select 1 as id, 5.0 as fare")
    (models / "fares.sql").write_text("select sum(fare) as fares from {{ ref('trips') }}")
    environ = os.environ | {
        "PATH": f"{dbt}:{os.environ['PATH']}",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_PROFILES_DIR": str(tmp_path),
    }
    _run(["bash", "-euc", _block(proxy, "dbt")], cwd=tmp_path, env=environ)
    event = _arrived(
        proxy,
        lambda body: (
            body["eventType"] == "COMPLETE"
            and [dataset["name"] for dataset in body["outputs"]] == ["lake.main.fares"]
        ),
    )
    assert event["job"]["namespace"] == "my_dbt"
    assert [dataset["name"] for dataset in event["inputs"]] == ["lake.main.trips"]
