"""Expiry of old snapshots: remaining snapshots, stored contents and tags."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.catalog import list_tables, load_table, pin, rows_by_partition
from lakehouse.generator import taxi_table
from lakehouse.ingest import Partition, land
from lakehouse.names import CATALOG, Table
from lakehouse.settings import Settings
from lakehouse.sources import GREEN
from spark_jobs import ingest, taxi
from spark_jobs.maintenance import expire_snapshots
from spark_jobs.taxi.actuals import actuals, compute_actuals
from tests.conftest import make_older

pytestmark = pytest.mark.spark

SPEC = taxi.SPECS["green"]
RAW = SPEC.raw.table


@pytest.fixture
def at_once(lake: Settings) -> Settings:
    """Return settings with which a snapshot expires as soon as it is replaced."""
    return lake.model_copy(update={"keep_snapshots_days": 0})


def load(spark: SparkSession, lake: Settings, *partitions: Partition) -> None:
    for job in (ingest.stage, ingest.check_staging, ingest.merge):
        job(spark, lake, SPEC, list(partitions))


def month_file(folder: Path, name: str, rows: int) -> Partition:
    path = folder / f"green_tripdata_{name}.parquet"
    pq.write_table(taxi_table(name, rows, "green"), path)
    return Partition(path.name, (str(path),), f"{rows} rows")


def held(lake: Settings, table: Table = RAW) -> IcebergTable:
    loaded = load_table(lake, table)
    assert loaded is not None
    return loaded


def on_disk(table: IcebergTable, partition: str) -> set[Path]:
    """Return the partition's data files; a killed driver may have left files in others."""
    folder = Path(urlsplit(table.location()).path, "data", f"filename={partition}")
    return set(folder.glob("*.parquet"))


def named(table: IcebergTable, partition: str) -> set[Path]:
    """Return the partition's data files that are in a snapshot."""
    paths = [
        Path(urlsplit(path).path) for path in table.inspect.all_files()["file_path"].to_pylist()
    ]
    return {path for path in paths if path.parent.name == f"filename={partition}"}


def test_loaded_months_are_known_after_expiry(
    spark: SparkSession, lake: Settings, at_once: Settings
) -> None:
    months = ["2024-01", "2024-02"]
    for month in months:
        load(spark, lake, *land(lake, GREEN, [month]).partitions)
    expire_snapshots(spark, at_once)
    left = held(lake).metadata
    assert [snapshot.snapshot_id for snapshot in left.snapshots] == [left.current_snapshot_id]
    again = land(lake, GREEN, months)
    assert again.partitions == ()
    paths = [lake.landing_dir / "green" / f"green_tripdata_{month}.parquet" for month in months]
    load(spark, lake, *(Partition(path.name, (str(path),), "from elsewhere") for path in paths))
    assert held(lake).metadata.current_snapshot_id == left.current_snapshot_id
    load(spark, lake, *land(lake, GREEN, ["2024-03"]).partitions)
    counted = rows_by_partition(held(lake))
    assert [counted[f"green_tripdata_2024-0{n}.parquet"] > 1_000 for n in (1, 2, 3)] == [True] * 3
    expire_snapshots(spark, at_once)
    assert land(lake, GREEN, [*months, "2024-03"]).partitions == ()


def test_month_expired_by_another_program_is_loaded_again(
    spark: SparkSession, lake: Settings, at_once: Settings, tmp_path: Path
) -> None:
    first = month_file(tmp_path, "2011-01", 1_000)
    load(spark, lake, first)
    expire_snapshots(spark, at_once)
    load(spark, lake, month_file(tmp_path, "2011-01", 1_300))
    load(spark, lake, month_file(tmp_path, "2011-02", 1_000))
    spark.sql(
        f"CALL {CATALOG}.system.expire_snapshots(table => '{RAW.identifier}', "
        "older_than => timestamp '9999-01-01', retain_last => 1)"
    )
    load(spark, lake, month_file(tmp_path, "2011-01", 1_000))
    assert rows_by_partition(held(lake))[first.name] == 1_000


def test_tagged_snapshot_is_readable_until_its_tag_expires(
    spark: SparkSession, lake: Settings, at_once: Settings, tmp_path: Path
) -> None:
    sizes = (1_000, 1_100, 1_200)
    for size in sizes:
        load(spark, lake, month_file(tmp_path, "2012-01", size))
        if size == sizes[0]:
            pinned = pin(lake, RAW, "run/1")
    partition = "green_tripdata_2012-01.parquet"
    row_filter = f"filename = '{partition}'"
    expire_snapshots(spark, at_once)
    table = held(lake)
    assert len(table.metadata.snapshots) == 2  # the pinned and the current one
    assert table.scan(row_filter, snapshot_id=pinned).to_arrow().num_rows == sizes[0]
    assert named(table, partition) == on_disk(table, partition)
    assert len(named(table, partition)) == 2
    assert pinned is not None
    table.manage_snapshots().create_tag(pinned, "run/1", max_ref_age_ms=1).commit()
    expire_snapshots(spark, at_once)
    table = held(lake)
    assert set(table.refs()) == {"main"}
    assert table.snapshot_by_id(pinned) is None
    assert named(table, partition) == on_disk(table, partition)
    assert len(named(table, partition)) == 1
    assert table.scan(row_filter).to_arrow().num_rows == sizes[-1]


def test_recent_versions_stay_readable(spark: SparkSession, lake: Settings, tmp_path: Path) -> None:
    for size in (1_000, 1_100, 1_200):
        load(spark, lake, month_file(tmp_path, "2013-01", size))
    ids = [snapshot.snapshot_id for snapshot in held(lake).metadata.snapshots][-3:]
    make_older(held(lake), ids[0], days=10)
    make_older(held(lake), ids[1], days=30)
    expire_snapshots(spark, lake)
    left = [snapshot.snapshot_id for snapshot in held(lake).metadata.snapshots]
    assert left[-2:] == ids[1:]  # a week ago, the snapshot of 30 days ago was current
    assert ids[0] not in left


def test_republished_partition_has_one_data_file(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    start, end = datetime(2013, 5, 1), datetime(2013, 5, 11)
    for size in (2_000, 1_500):
        load(spark, lake, month_file(tmp_path, "2013-05", size))
        compute_actuals(spark, lake, "green", start, end)
    written = [table for table in list_tables(lake) if held(lake, table).current_snapshot()]
    for table in written:
        # Not `all_delete_files()`, which fails for a table that never had a file.
        manifests = held(lake, table).inspect.all_manifests()
        assert ManifestContent.DELETES not in manifests["content"].to_pylist(), table
    for table in (RAW, actuals("green").table):
        partitions = held(lake, table).inspect.partitions()
        assert set(partitions["file_count"].to_pylist()) == {1}, table
