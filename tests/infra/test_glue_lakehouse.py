"""LAKEHOUSE=glue: the jobs on a stack that create-infra created in a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pytest
from moto.s3.models import s3_backends

from infra.aws import Dialogue, connect
from infra.stack import apply_stack
from lakehouse.catalog import open_catalog, pin
from lakehouse.ingest import land
from lakehouse.names import Table
from lakehouse.settings import REPOSITORY, Settings, load_settings
from lakehouse.sources import YELLOW
from spark_jobs.runtime import jars
from tests.infra.conftest import PROFILE, isolate, use_config, write_profile
from tests.spool import events_of

pytestmark = [pytest.mark.spark, pytest.mark.server]

RAW = Table("yellow_taxi_raw")
MONTH = "2025-04"


def _stack() -> dict[str, str]:
    """Return the settings that create-infra prints."""
    aws = connect(load_settings(aws_profile=PROFILE))
    outputs = apply_stack(aws, Dialogue(say=lambda _: None, confirm=lambda _: True))
    assert outputs is not None
    # moto ignores conditions of the policy and would deny everything.
    s3_backends[aws.account]["aws"].delete_bucket_policy(outputs["BucketName"])
    return {"bucket": outputs["BucketName"], "aws_account": aws.account, "aws_region": aws.region}


_RUN_JOBS = """
import json, sys
from spark_jobs.run import main

for arguments in json.loads(sys.argv[1]):
    main(arguments)
"""


def _run(settings: Settings, *jobs: list[str]) -> None:
    """Run each job in its own Spark session; all use one JVM, because starting one is slow."""
    environ = {
        **os.environ,
        **settings.environ(),
        "LINEAGE_BACKEND": "file",
    }
    done = subprocess.run(
        [sys.executable, "-c", _RUN_JOBS, json.dumps(jobs)],
        cwd=REPOSITORY,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def config_file(stand_in: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a config file in which only the profile has the stand-in's endpoint."""
    return write_profile(tmp_path_factory.mktemp("profile"), stand_in)


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch, config_file: Path) -> None:
    """Use the config file in each test."""
    isolate(monkeypatch, config_file.parent)
    use_config(monkeypatch, config_file)


@pytest.fixture(scope="module")
def loaded(
    stand_in: str, config_file: Path, make_settings: Callable[..., Settings]
) -> Iterator[Settings]:
    """Return a Glue lakehouse with a month loaded by the Spark jobs, using only a profile."""
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, config_file.parent)
        use_config(patch, config_file)
        httpx.post(f"{stand_in}/moto-api/reset").raise_for_status()
        settings = make_settings(
            "glue",
            lakehouse="glue",
            aws_profile=PROFILE,
            generator_rows=1_000,
            **_stack(),
        )
        jars(settings)
        landing = land(settings, YELLOW, [MONTH])
        partitions = json.dumps([asdict(partition) for partition in landing.partitions])
        jobs = ("stage", "check_staging", "merge")
        _run(settings, *([YELLOW.name, job, partitions] for job in jobs))
        yield settings


def test_pyiceberg_reads_tables_written_by_spark(loaded: Settings) -> None:
    table = open_catalog(loaded).load_table(RAW.identifier)
    assert table.location() == f"s3://{loaded.bucket}/warehouse/nyc_taxi/{RAW.name}"
    rows = table.scan().to_arrow()
    assert rows.num_rows >= 1_000
    assert set(rows["filename"].to_pylist()) == {f"yellow_tripdata_{MONTH}.parquet"}
    assert len(set(rows["unique_row_id"].to_pylist())) == rows.num_rows


def test_loaded_month_is_not_loaded_again(loaded: Settings) -> None:
    landing = land(loaded, YELLOW, [MONTH])
    assert landing.partitions == ()
    assert "has not changed" in landing.skipped[0]


def _events(settings: Settings) -> list[dict[str, Any]]:
    return events_of(settings.spool_dir.glob("spark-yellow_taxi_merge-*.jsonl"))


@pytest.mark.parametrize(
    ("side", "table"), [("inputs", "yellow_taxi_staging"), ("outputs", "yellow_taxi_raw")]
)
def test_spark_lineage_contains_the_glue_arn(loaded: Settings, side: str, table: str) -> None:
    symlinks = {
        (link["namespace"], link["name"], link["type"])
        for event in _events(loaded)
        for dataset in event.get(side, [])
        for link in dataset.get("facets", {}).get("symlinks", {}).get("identifiers", [])
    }
    dataset = Table(table).dataset(loaded)
    assert (dataset.namespace, dataset.name, "TABLE") in symlinks
    assert dataset.namespace == "arn:aws:glue:us-east-1:123456789012"
    assert dataset.name == f"table/nyc_taxi/{table}"


# Last, because it writes to the table.
def test_expiry_keeps_pins_and_loaded_partitions(loaded: Settings) -> None:
    pinned = pin(loaded, RAW, "run/1")
    table = open_catalog(loaded).load_table(RAW.identifier)
    rows = table.scan().to_arrow()
    for _ in range(2):
        table.append(rows)
    settings = loaded.model_copy(update={"keep_snapshots_days": 0})
    _run(settings, ["tables", "expire_snapshots"])
    table.refresh()
    remaining = {snapshot.snapshot_id for snapshot in table.metadata.snapshots}
    assert remaining == {pinned, table.metadata.current_snapshot_id}
    assert table.scan(snapshot_id=pinned).to_arrow().num_rows == rows.num_rows
    assert land(settings, YELLOW, [MONTH]).partitions == ()
