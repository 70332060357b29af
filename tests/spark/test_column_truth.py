"""Truth tables of cases that do not occur in a pipeline run."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from commands.environment import script
from lakehouse.generator import taxi_table
from lakehouse.settings import Settings
from spark_jobs import taxi
from tests.column_truth import REPEATED, TRUTH, assert_same, reported, truth
from tests.spark.test_impossible_values import landed, trips
from tests.spark.test_ingest_jobs import load, spooled

pytestmark = pytest.mark.spark

SPEC = taxi.SPECS["yellow"]


def now() -> str:
    """Return the time as it is in events."""
    return datetime.now(UTC).isoformat()


def events_since(time: str, spark: SparkSession, lake: Settings) -> list[dict[str, Any]]:
    """Return the events from a time on, once Spark's listener has written all."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return [event for event in spooled(lake) if event["eventTime"] >= time]


def columns_of(table: str, events: Iterable[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Return headwater's answer about a table's columns, one step up, from these events."""
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    log = str(folder / "log.db")
    ingest = [script("headwater"), "ingest", str(folder / "events.jsonl"), "--database", log]
    subprocess.run(ingest, check=True, capture_output=True)
    ask = [script("headwater"), "columns", table, "--indirect", "--json", "--depth", "1"]
    done = subprocess.run([*ask, "--database", log], check=True, capture_output=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_column_lineage_of_quarantine(spark: SparkSession, lake: Settings, tmp_path: Path) -> None:
    start = now()
    partition = landed(tmp_path, "2022-05", trips("2022-05", total_amount=[math.nan]))
    load(spark, lake, SPEC, partition)
    events = events_since(start, spark, lake)
    table = SPEC.quarantine
    expected = truth(TRUTH[table.table.name], table.columns, {"trips": [partition.name]})
    edges = reported(columns_of(table.table.name, events, tmp_path))
    assert_same(table.table.name, edges, expected)


def test_duplicate_removal_depends_on_all_columns(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    start = now()
    some = taxi_table("2022-06", 1_000).slice(0, 10)
    partition = landed(tmp_path, "2022-06", pa.concat_tables([some, some]))
    load(spark, lake, SPEC, partition)
    events = events_since(start, spark, lake)
    expected = truth(TRUTH["yellow_taxi_raw"] + REPEATED, SPEC.raw.columns, {})
    edges = reported(columns_of("yellow_taxi_raw", events, tmp_path))
    assert_same("yellow_taxi_raw", edges, expected)
