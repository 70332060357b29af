"""Two concurrent runs that load the same month each publish only their own staged rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.catalog import load_table, loaded_sources
from lakehouse.errors import Conflict
from lakehouse.generator import taxi_table
from lakehouse.ingest import Partition
from lakehouse.settings import Settings
from spark_jobs import ingest
from spark_jobs.tables import ensure_table

from .test_ingest_jobs import RAW, YELLOW_SPEC, rows, trips_file

pytestmark = pytest.mark.spark


def _two_versions(folder: Path, name: str) -> tuple[Partition, Partition]:
    """Return a file of 1,000 trips and a corrected one of 900."""
    (folder / "first").mkdir()
    (folder / "second").mkdir()
    first = trips_file(folder / "first", name, taxi_table("2025-05", 1_000))
    second = trips_file(folder / "second", name, taxi_table("2025-04", 1_000).slice(0, 900))
    return replace(first, source_hash="first"), replace(second, source_hash="second")


def test_run_does_not_check_or_merge_rows_of_another_run(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    first, second = _two_versions(tmp_path, "yellow_tripdata_2014-08.parquet")
    ingest.stage(spark, lake, YELLOW_SPEC, [first])
    ingest.stage(spark, lake, YELLOW_SPEC, [second])
    theirs = f"contains {first.name} with the source hash second, but this run loads first"
    with pytest.raises(Conflict, match=theirs):
        ingest.check_staging(spark, lake, YELLOW_SPEC, [first])
    ingest.check_staging(spark, lake, YELLOW_SPEC, [second])
    with pytest.raises(Conflict, match=theirs):
        ingest.merge(spark, lake, YELLOW_SPEC, [first])
    ingest.merge(spark, lake, YELLOW_SPEC, [second])
    assert len(rows(lake, RAW, second.name)) == 900
    assert loaded_sources(load_table(lake, RAW), second.name) == {"second"}


def test_merge_publishes_the_checked_rows_while_another_run_stages(
    spark: SparkSession, lake: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _two_versions(tmp_path, "yellow_tripdata_2014-09.parquet")
    ingest.stage(spark, lake, YELLOW_SPEC, [first])
    ingest.check_staging(spark, lake, YELLOW_SPEC, [first])

    def stage_meanwhile(*arguments: Any) -> None:
        """Stage files of the other run after the check of staging, before staging is read."""
        monkeypatch.undo()
        ensure_table(*arguments)
        ingest.stage(spark, lake, YELLOW_SPEC, [second])

    monkeypatch.setattr(ingest, "ensure_table", stage_meanwhile)
    ingest.merge(spark, lake, YELLOW_SPEC, [first])
    assert len(rows(lake, RAW, first.name)) == 1_000
    assert loaded_sources(load_table(lake, RAW), first.name) == {"first"}
