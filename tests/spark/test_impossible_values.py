from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import STAGED, load_table
from lakehouse.errors import BadSourceFile, ChecksFailed
from lakehouse.generator import taxi_table
from lakehouse.ingest import Partition
from lakehouse.settings import Settings
from lakehouse.sources import GREEN, WEATHER, YELLOW
from spark_jobs import ingest, taxi, weather
from tests.spark.test_ingest_jobs import load, rows, snapshots, spooled

pytestmark = pytest.mark.spark

SPEC = taxi.SPECS["yellow"]
QUARANTINE = SPEC.quarantine.table
ROWS = 2_000


def trips(month: str, **values: list[Any]) -> pa.Table:
    """Return a month of trips, the first of which have these values."""
    table = taxi_table(month, ROWS)
    for name, first in values.items():
        at = table.column_names.index(name)
        kind = pa.float64() if isinstance(first[0], float) else table.schema[at].type
        rest = table.column(at).slice(len(first)).combine_chunks().cast(kind)
        column = pa.concat_arrays([pa.array(first, kind), rest])
        table = table.set_column(at, name, column)
    return table


def landed(folder: Path, month: str, table: pa.Table) -> Partition:
    path = folder / f"yellow_tripdata_{month}.parquet"
    pq.write_table(table, path)
    return Partition(path.name, (str(path),), f"hash of {path.stat().st_mtime_ns}")


def test_impossible_values_go_to_quarantine_with_the_reason(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    bad = trips(
        "2022-01",
        total_amount=[math.nan, math.inf, -math.inf, 1e300],
        fare_amount=[1.0, 1.0, 1.0, math.inf],
        passenger_count=[1.0, 1.0, 1.0, 1.0, 1.5, math.nan, math.inf, 1e30],
        tpep_pickup_datetime=[*[datetime(2022, 1, 2)] * 8, datetime(2099, 1, 1)],
        tpep_dropoff_datetime=[*[datetime(2022, 1, 2, 1)] * 8, datetime(2099, 1, 1, 1)],
        PULocationID=[1] * 9 + [999],
    )
    partition = landed(tmp_path, "2022-01", bad)
    load(spark, lake, SPEC, partition)
    quarantined = rows(lake, QUARANTINE, partition.name)
    time = "{}: received 2099-01-01 0{}:00:00, allowed 2021-01-01 to before 2022-03-01"
    assert sorted(row["reason"] for row in quarantined) == sorted(
        [
            "total_amount: received NaN, allowed -1,000 to 10,000",
            "total_amount: received Infinity, allowed -1,000 to 10,000",
            "total_amount: received -Infinity, allowed -1,000 to 10,000",
            "fare_amount: received Infinity, allowed -1,000 to 10,000; "
            "total_amount: received 1.0E300, allowed -1,000 to 10,000",
            "passenger_count: received 1.5, allowed values of type bigint",
            "passenger_count: received NaN, allowed values of type bigint",
            "passenger_count: received Infinity, allowed values of type bigint",
            "passenger_count: received 1.0E30, allowed values of type bigint",
            "; ".join(
                time.format(f"tpep_{name}_datetime", n)
                for n, name in enumerate(("pickup", "dropoff"))
            ),
            "pulocationid: received 999, allowed 1 to 265",
        ]
    )
    assert len(rows(lake, SPEC.raw.table, partition.name)) == ROWS - len(quarantined)
    assert {row["openlineage_run_id"] for row in quarantined} == {
        "01890a5d-ac96-774b-bcce-b302099a8057"
    }
    counted = {
        (assertion["column"], assertion["assertion"]): assertion["actual"]
        for assertion in assertions(lake, partition.paths[0])
    }
    assert counted["total_amount", "in_range"] == "4"
    assert counted["passenger_count", "whole_number"] == "4"
    assert counted["tpep_pickup_datetime", "in_range"] == "1"
    corrected = landed(tmp_path, "2022-01", trips("2022-01"))
    load(spark, lake, SPEC, corrected)
    assert rows(lake, QUARANTINE, partition.name) == []
    assert len(rows(lake, SPEC.raw.table, partition.name)) == ROWS


def assertions(lake: Settings, dataset: str) -> list[dict[str, Any]]:
    """Return the assertions about a dataset in lineage."""
    return [
        assertion
        for event in spooled(lake)
        for source in event.get("inputs", [])
        if source["name"] == dataset and event["eventType"] == "COMPLETE"
        for assertion in source.get("inputFacets", {})
        .get("dataQualityAssertions", {})
        .get("assertions", [])
    ]


def test_file_above_the_quarantined_share_is_rejected(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    load(spark, lake, SPEC, landed(tmp_path, "2022-02", trips("2022-02")))
    bad = landed(tmp_path, "2022-02", trips("2022-02", total_amount=[math.inf] * 21))
    raw = snapshots(lake, SPEC.raw.table)
    ingest.stage(spark, lake, SPEC, [bad])
    with pytest.raises(ChecksFailed) as caught:
        ingest.check_staging(spark, lake, SPEC, [bad])
    assert (
        f"{bad.name}: quarantined_rows: 21 of 2,000 rows (1.05%) with impossible values by column: "
        "total_amount 21; allowed are 1.00% (MAX_QUARANTINED_SHARE)" in str(caught.value)
    )
    with pytest.raises(ChecksFailed, match="has not passed its checks"):
        ingest.merge(spark, lake, SPEC, [bad])
    assert snapshots(lake, SPEC.raw.table) == raw
    (counted,) = (
        assertion["actual"]
        for assertion in assertions(lake, SPEC.staging.table.identifier)
        if assertion["assertion"] == "quarantined_rows" and assertion["severity"] == "error"
    )
    assert counted == "21"
    patient = lake.model_copy(update={"max_quarantined_share": 0.02})
    load(spark, patient, SPEC, bad)
    assert len(rows(lake, SPEC.raw.table, bad.name)) == ROWS - 21


def test_file_of_another_month_is_rejected(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    other = landed(tmp_path, "2022-04", trips("2019-04"))
    ingest.stage(spark, lake, SPEC, [other])
    with pytest.raises(ChecksFailed, match=r"quarantined_rows: 2,000 of 2,000 rows \(100\.00%\)"):
        ingest.check_staging(spark, lake, SPEC, [other])
    path = tmp_path / "trips.parquet"
    pq.write_table(trips("2022-04"), path)
    with pytest.raises(BadSourceFile, match=r"yellow_tripdata_YYYY-MM\.parquet"):
        ingest.stage(spark, lake, SPEC, [Partition(path.name, (str(path),), "x")])


def test_staging_without_its_counts_is_not_published(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    partition = landed(tmp_path, "2022-05", trips("2022-05"))
    ingest.stage(spark, lake, SPEC, [partition])
    fewer = spark.table(SPEC.staging.table.spark).where("pulocationid <> 1")
    sources = json.dumps({partition.name: partition.source_hash})
    writer = fewer.writeTo(SPEC.staging.table.spark)
    writer.option(f"snapshot-property.{STAGED}", sources).overwrite(F.lit(True))
    with pytest.raises(ChecksFailed, match="Run stage again"):
        ingest.check_staging(spark, lake, SPEC, [partition])


def test_every_source_with_rules_declares_its_quarantine(lake: Settings) -> None:
    specs = {YELLOW: SPEC, GREEN: taxi.SPECS["green"], WEATHER: weather.SPEC}
    for source, spec in specs.items():
        assert source.has_quarantine == bool(spec.rules)
        assert f"{source.table}_quarantine" == spec.quarantine.table.name
    assert load_table(lake, weather.SPEC.quarantine.table) is None
