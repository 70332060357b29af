from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import Contents, load_table, loaded_sources
from lakehouse.errors import BadSourceFile, ChecksFailed, Conflict
from lakehouse.faults import FAULTS, Fault
from lakehouse.generator import taxi_table
from lakehouse.ingest import Partition, land
from lakehouse.names import Table
from lakehouse.settings import Settings, load_settings
from lakehouse.sources import WEATHER, YELLOW
from packages.headwater.tests.support.datahub_server import endpoint_error
from spark_jobs import ingest, taxi, weather
from spark_jobs.lineage import PRODUCER
from spark_jobs.tables import contents, replace_partition
from spark_jobs.taxi.actuals import actuals, compute_actuals
from tests.spool import events_of

pytestmark = pytest.mark.spark

YELLOW_SPEC, GREEN_SPEC = taxi.SPECS["yellow"], taxi.SPECS["green"]
RAW = YELLOW_SPEC.raw.table


def trips_file(folder: Path, name: str, trips: pa.Table) -> Partition:
    """Return a landed file of these trips, with their times moved to the file's month."""
    times = [column for column in trips.column_names if column.endswith("_datetime")]
    earliest = pc.min(trips[times[0]]).as_py() or datetime(2025, 5, 1)
    moved = datetime.strptime(name[-15:-8], "%Y-%m") - datetime(earliest.year, earliest.month, 1)
    for column in times:
        later = pc.add(trips[column], pa.scalar(moved, pa.duration("us")))
        trips = trips.set_column(trips.column_names.index(column), column, later)
    return unchanged_file(folder, name, trips)


def unchanged_file(folder: Path, name: str, trips: pa.Table) -> Partition:
    """Return a landed file of these trips."""
    path = folder / name
    pq.write_table(trips, path)
    return Partition(name, (str(path),), f"hash of {path.stat().st_mtime_ns}")


def load(spark: SparkSession, lake: Settings, spec: ingest.Spec, *partitions: Partition) -> None:
    for job in (ingest.stage, ingest.check_staging, ingest.merge):
        job(spark, lake, spec, list(partitions))


def rows(lake: Settings, table: Table, filename: str) -> list[dict[str, Any]]:
    loaded = load_table(lake, table)
    assert loaded is not None
    return loaded.scan(row_filter=f"filename = '{filename}'").to_arrow().to_pylist()  # type: ignore[no-any-return]


def snapshots(lake: Settings, table: Table) -> int:
    loaded = load_table(lake, table)
    return len(loaded.metadata.snapshots) if loaded else 0


def test_real_month_is_loaded_completely(spark: SparkSession, lake: Settings, shared: Path) -> None:
    path = shared / "data/taxi/trip-data/yellow_tripdata_2019-03.parquet"
    load(spark, lake, YELLOW_SPEC, Partition(path.name, (str(path),), "x"))
    trips = pq.read_table(path)
    loaded = rows(lake, RAW, path.name)
    distinct = trips.group_by(trips.column_names).aggregate([]).num_rows
    assert len(loaded) == distinct
    assert len({row["unique_row_id"] for row in loaded}) == distinct
    expected = Counter(trips.group_by(trips.column_names).aggregate([])["PULocationID"].to_pylist())
    assert Counter(row["pulocationid"] for row in loaded) == expected
    assert {row["openlineage_run_id"] for row in loaded} == {"01890a5d-ac96-774b-bcce-b302099a8057"}


def test_loading_the_same_file_again_writes_nothing(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    partition = trips_file(
        tmp_path, "yellow_tripdata_2011-01.parquet", taxi_table("2025-05", 1_000)
    )
    load(spark, lake, YELLOW_SPEC, partition)
    before = snapshots(lake, RAW)
    load(spark, lake, YELLOW_SPEC, replace(partition, source_hash="other bytes, same rows"))
    assert snapshots(lake, RAW) == before
    sources = loaded_sources(load_table(lake, RAW), partition.name)
    assert sources == {partition.source_hash, "other bytes, same rows"}


def test_corrected_file_replaces_only_its_own_rows(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    unchanged = trips_file(
        tmp_path, "yellow_tripdata_2012-01.parquet", taxi_table("2025-04", 1_000)
    )
    wrong = trips_file(tmp_path, "yellow_tripdata_2012-02.parquet", taxi_table("2025-05", 1_000))
    load(spark, lake, YELLOW_SPEC, unchanged, wrong)
    corrected = trips_file(tmp_path, wrong.name, taxi_table("2025-05", 1_000).slice(0, 700))
    load(spark, lake, YELLOW_SPEC, corrected)
    assert len(rows(lake, RAW, corrected.name)) == 700
    assert len(rows(lake, RAW, unchanged.name)) == 1_000


def test_only_exact_duplicates_are_merged(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    trips = taxi_table("2025-05", 1_000).slice(0, 10)
    null = trips.slice(0, 1).set_column(3, "passenger_count", pa.nulls(1, pa.int64()))
    both = pa.concat_tables([trips, trips, null])
    partition = trips_file(tmp_path, "yellow_tripdata_2013-01.parquet", both)
    load(spark, lake, YELLOW_SPEC, partition)
    assert len(rows(lake, RAW, partition.name)) == 11


def test_contents_do_not_depend_on_row_order(spark: SparkSession) -> None:
    rows = [("a", 1, None), ("a", 2, 2), ("a", 2, 2), ("b", None, 1)]

    def contents_of(rows_: list[tuple[str, int | None, int | None]]) -> dict[str, Contents]:
        frame = spark.createDataFrame(rows_, "file string, x int, y int").repartition(3)
        return contents(frame, ["x", "y"], by=F.col("file"))

    first = contents_of(rows)
    assert contents_of(rows[::-1]) == first
    assert (first["a"].rows, first["a"].distinct) == (3, 2)
    for row in [("a", None, 1), ("a", 1, 1), ("a", 2, 2)]:
        other = contents_of([row, *rows[1:]])
        assert other["a"].digest != first["a"].digest
        assert other["b"] == first["b"]


def test_critical_check_stops_the_run_and_is_reported(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    trips = taxi_table("2025-05", 1_000)
    nowhere = trips.set_column(7, "PULocationID", pa.nulls(1_000, pa.int32()))
    partition = trips_file(tmp_path, "yellow_tripdata_2014-01.parquet", nowhere)
    before = snapshots(lake, RAW)
    ingest.stage(spark, lake, YELLOW_SPEC, [partition])
    with pytest.raises(ChecksFailed, match=r"2014-01\.parquet: not_null pulocationid: 1,000 of"):
        ingest.check_staging(spark, lake, YELLOW_SPEC, [partition])
    assert snapshots(lake, RAW) == before
    assertions = [
        assertion
        for event in spooled(lake)
        if event["job"]["name"] == "tests.checks"
        for dataset in event["inputs"]
        for assertion in dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    ]
    failed = [a for a in assertions if not a["success"] and a["actual"] == "1000"]
    assert {(a["column"], a["severity"]) for a in failed} == {("pulocationid", "error")}


def test_unchecked_staging_is_not_published(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    good = trips_file(tmp_path, "yellow_tripdata_2014-02.parquet", taxi_table("2025-05", 1_000))
    ingest.stage(spark, lake, YELLOW_SPEC, [good])
    with pytest.raises(ChecksFailed, match="has not passed its checks"):
        ingest.merge(spark, lake, YELLOW_SPEC, [good])
    ingest.check_staging(spark, lake, YELLOW_SPEC, [good])
    ingest.stage(spark, lake, YELLOW_SPEC, [good])
    with pytest.raises(ChecksFailed, match="has not passed its checks"):
        ingest.merge(spark, lake, YELLOW_SPEC, [good])
    assert rows(lake, RAW, good.name) == []


@pytest.mark.parametrize("left", [0, 400])
def test_much_smaller_file_is_rejected(
    left: int, spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    name, trips = f"yellow_tripdata_2014-0{3 + bool(left)}.parquet", taxi_table("2025-05", 1_000)
    load(spark, lake, YELLOW_SPEC, trips_file(tmp_path, name, trips))
    with pytest.raises(ChecksFailed, match=rf"{name}: row_count"):
        load(spark, lake, YELLOW_SPEC, trips_file(tmp_path, name, trips.slice(0, left)))
    assert len(rows(lake, RAW, name)) == 1_000


def test_unknown_columns_are_ignored_and_reported(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    trips = taxi_table("2025-05", 1_000)
    trips = trips.append_column("robot", pa.array([True] * 1_000))
    old = trips.drop_columns(["Airport_fee", "cbd_congestion_fee"])
    partition = trips_file(tmp_path, "yellow_tripdata_2017-01.parquet", old)
    load(spark, lake, YELLOW_SPEC, partition)
    (row, *_) = rows(lake, RAW, partition.name)
    assert "robot" not in row
    assert row["airport_fee"] is None
    reported = [
        assertion["actual"]
        for event in spooled(lake)
        for dataset in event.get("inputs", [])
        if dataset["name"] == partition.paths[0] and event["eventType"] == "COMPLETE"
        for assertion in dataset.get("inputFacets", {})
        .get("dataQualityAssertions", {})
        .get("assertions", [])
    ]
    assert reported == ["robot"]


YEARS = {
    "integers as doubles": ("passenger_count", pa.float64()),
    "wider integers": ("PULocationID", pa.int64()),
    "a column that holds nothing": ("congestion_surcharge", pa.null()),
    "short strings": ("store_and_fwd_flag", pa.string()),
}


@pytest.mark.parametrize("year", YEARS)
def test_row_id_does_not_depend_on_the_years_schema(
    year: str, spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    column, type_ = YEARS[year]
    trips = taxi_table("2025-05", 1_000)
    at = trips.column_names.index(column)
    if pa.types.is_null(type_):
        trips = trips.set_column(at, column, pa.nulls(1_000, trips.schema[at].type))
    nulls = pa.nulls(1_000) if pa.types.is_null(type_) else trips[column].cast(type_)
    other = trips.set_column(at, column, nulls)
    ids = []
    for number, written in enumerate((trips, other)):
        name = f"yellow_tripdata_2025-{5 + 2 * list(YEARS).index(year) + number:02d}.parquet"
        load(spark, lake, YELLOW_SPEC, unchanged_file(tmp_path, name, written))
        ids.append({row["unique_row_id"] for row in rows(lake, RAW, name)})
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("page", r"cannot read"),
        ("empty", r"cannot read"),
        ("truncated", r"cannot read"),
        ("text_dates", r"tpep_pickup_datetime is string instead of timestamp_ntz"),
        ("wrong_schema", r"pulocationid is missing"),
    ],
)
def test_invalid_file_is_rejected_and_staging_unchanged(
    fault: Fault, problem: str, spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    good = trips_file(tmp_path, "yellow_tripdata_2014-05.parquet", taxi_table("2025-05", 1_000))
    ingest.stage(spark, lake, YELLOW_SPEC, [good])
    before = snapshots(lake, YELLOW_SPEC.staging.table)
    path = tmp_path / "yellow_tripdata_2014-06.parquet"
    pq.write_table(taxi_table("2025-05", 1_000), path)
    FAULTS[fault](path)
    with pytest.raises(BadSourceFile, match=problem) as caught:
        ingest.stage(spark, lake, YELLOW_SPEC, [good, Partition(path.name, (str(path),), "x")])
    assert path.name in str(caught.value)
    assert "run the task again" in str(caught.value)
    assert snapshots(lake, YELLOW_SPEC.staging.table) == before


def test_second_writer_of_a_file_gets_a_conflict(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    name, go = "yellow_tripdata_2014-07.parquet", tmp_path / "go"
    load(spark, lake, YELLOW_SPEC, trips_file(tmp_path, name, taxi_table("2025-05", 1_000)))
    stored = spark.table(RAW.spark).where(F.col("filename") == name)

    @F.udf("string")
    def when_the_other_has_committed(value):  # type: ignore[no-untyped-def]  # Spark reads hints
        while not go.exists():
            time.sleep(0.05)
        return value

    slow = stored.limit(10).withColumn("filename", when_the_other_has_committed("filename"))
    mine = F.col("filename") == name
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(replace_partition, lake, slow, RAW, name, mine, digest="second")
        while second.running() and not spark.sparkContext.statusTracker().getActiveStageIds():
            time.sleep(0.05)
        assert replace_partition(lake, stored.limit(20), RAW, name, mine, digest="first")
        go.touch()
        with pytest.raises(Conflict, match=f"Another writer changed {name} of yellow_taxi_raw"):
            second.result()
    assert len(rows(lake, RAW, name)) == 20


IMPOSSIBLE_ROWS = {"2023-01": 35, "2023-02": 38}
"""Test trips of 2008 and 2009, and of more than 1,000 miles."""


def test_real_green_month_with_changed_types_is_loaded(
    spark: SparkSession, lake: Settings, shared: Path
) -> None:
    for month in ("2023-01", "2023-02"):
        path = shared / f"data/taxi/trip-data/green_tripdata_{month}.parquet"
        load(spark, lake, GREEN_SPEC, Partition(path.name, (str(path),), month))
        trips = pq.read_table(path)
        loaded = rows(lake, GREEN_SPEC.raw.table, path.name)
        kept_out = rows(lake, GREEN_SPEC.quarantine.table, path.name)
        assert len(kept_out) == IMPOSSIBLE_ROWS[month]
        distinct = trips.group_by(trips.column_names).aggregate([]).num_rows
        assert len(loaded) + len(kept_out) == distinct
        zones = Counter(row["pulocationid"] for row in loaded + kept_out)
        assert zones == Counter(trips["PULocationID"].to_pylist())


def test_daylight_saving_does_not_change_hours(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    trips = taxi_table("2024-03", 1_000)
    hours = [datetime(2024, 3, 10, hour, 30) for hour in (1, 2, 3)] + [datetime(2024, 11, 3, 1, 30)]
    pickups = pa.array([hours[n % 4] for n in range(1_000)], pa.timestamp("us"))
    for column in (1, 2):
        trips = trips.set_column(column, trips.column_names[column], pickups)
    file = unchanged_file(tmp_path, "yellow_tripdata_2024-11.parquet", trips)
    load(spark, lake, YELLOW_SPEC, file)
    for day in (datetime(2024, 3, 10), datetime(2024, 11, 3)):
        assert compute_actuals(spark, lake, "yellow", day, day + timedelta(days=1))
    table = load_table(lake, actuals("yellow").table)
    assert table is not None
    counts = Counter[datetime]()
    for row in table.scan().to_arrow().to_pylist():
        counts[row["datetime_hour"]] += row["total_rides"]
    assert {hour: counts[hour.replace(minute=0)] for hour in hours} == dict.fromkeys(hours, 250)


def test_commit_report_has_added_and_total_rows(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    for year in (2015, 2016):
        name = f"yellow_tripdata_{year}-01.parquet"
        load(spark, lake, YELLOW_SPEC, trips_file(tmp_path, name, taxi_table("2025-03", 700)))
    table = load_table(lake, RAW)
    snapshot = table.current_snapshot() if table else None
    assert table is not None
    assert snapshot is not None
    (report,) = [
        dataset
        for event in spooled(lake)
        for dataset in event.get("outputs", [])
        if "icebergCommitReport" in dataset.get("outputFacets", {})
        and dataset["facets"]["version"]["datasetVersion"] == str(snapshot.snapshot_id)
    ]
    rows = table.scan().to_arrow().num_rows
    metrics = report["outputFacets"]["icebergCommitReport"]["commitMetrics"]
    assert metrics == {"addedRecords": 700, "totalRecords": rows}
    assert rows >= 1_400
    events = spooled(lake)
    assert {event["producer"] for event in events} > {PRODUCER}
    assert {endpoint_error(event) for event in events} == {None}
    ours = [event for event in events if event["producer"] == PRODUCER]
    engines = {
        (event["job"]["name"], event["run"]["facets"]["processing_engine"]["name"])
        for event in ours
    }
    assert engines == {("tests.run", "Airflow"), ("tests.checks", "spark")}


def spooled(lake: Settings) -> list[dict[str, Any]]:
    return events_of(lake.spool_dir.rglob("*.jsonl"))


def test_weather_has_one_row_per_county_and_day(
    spark: SparkSession, lake: Settings, shared: Path
) -> None:
    mirror = load_settings(state_dir=lake.state_dir, data_source=str(shared / "data"))
    landing = land(mirror, WEATHER, ["2023-01"])
    load(spark, lake, weather.SPEC, *landing.partitions)
    table = weather.SPEC.raw.table
    loaded = {
        (row["county_code"], row["date"].isoformat()): row
        for row in rows(lake, table, landing.partitions[0].name)
    }
    source = (shared / "data/weather/averages/2023/prcp-202301-cty-scaled.csv").read_text()
    counties = [line.split(",") for line in source.splitlines()]
    assert len(loaded) == len(counties) * 31
    manhattan = next(c for c in counties if c[1] == "30061")
    assert loaded["30061", "2023-01-04"]["prcp"] == float(manhattan[6 + 3])
    assert loaded["30061", "2023-01-04"]["tmax"] is None  # not published in this mirror
    assert "tmax-202301" in " ".join(landing.skipped)


def test_actuals_are_counted_once(spark: SparkSession, lake: Settings, tmp_path: Path) -> None:
    trips = taxi_table("2024-02", 1_000)
    load(spark, lake, YELLOW_SPEC, trips_file(tmp_path, "yellow_tripdata_2024-02.parquet", trips))
    start, end = datetime(2024, 2, 10), datetime(2024, 2, 20)
    assert compute_actuals(spark, lake, "yellow", start, end)
    assert not compute_actuals(spark, lake, "yellow", start, end)
    table = load_table(lake, actuals("yellow").table)
    assert table is not None
    hours = f"datetime_hour >= '{start.isoformat()}' and datetime_hour < '{end.isoformat()}'"
    counted = {
        (row["datetime_hour"], row["pulocationid"]): row["total_rides"]
        for row in table.scan(row_filter=hours).to_arrow().to_pylist()
    }
    expected = Counter(
        (pickup.replace(minute=0, second=0, microsecond=0), zone)
        for pickup, zone in zip(
            trips["tpep_pickup_datetime"].to_pylist(),
            trips["PULocationID"].to_pylist(),
            strict=True,
        )
        if start <= pickup < end
    )
    assert counted == dict(expected)


def test_hours_overwritten_by_another_window_are_recomputed(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    def load_trips(rows: int) -> None:
        file = "yellow_tripdata_2024-05.parquet"
        load(spark, lake, YELLOW_SPEC, trips_file(tmp_path, file, taxi_table("2024-05", rows)))

    first, second = (
        (datetime(2024, 5, 10), datetime(2024, 5, 20)),
        (
            datetime(2024, 5, 15),
            datetime(2024, 5, 25),
        ),
    )
    for trips, window in ((2_000, first), (1_000, second), (2_000, first)):
        load_trips(trips)
        assert compute_actuals(spark, lake, "yellow", *window)
    table = load_table(lake, actuals("yellow").table)
    assert table is not None
    hours = f"datetime_hour >= '{first[0].isoformat()}' and datetime_hour < '2024-05-20T00:00:00'"
    counted = sum(table.scan(row_filter=hours).to_arrow()["total_rides"].to_pylist())
    pickups = taxi_table("2024-05", 2_000)["tpep_pickup_datetime"].to_pylist()
    assert counted == sum(first[0] <= pickup < first[1] for pickup in pickups)


def test_only_new_partitions_are_loaded(spark: SparkSession, lake: Settings) -> None:
    first = land(lake, YELLOW, ["2024-03"])
    assert [s.name for s in first.partitions] == ["yellow_tripdata_2024-03.parquet"]
    load(spark, lake, YELLOW_SPEC, *first.partitions)
    second = land(lake, YELLOW, ["2024-03"])
    assert second.partitions == ()
    assert "already loaded" in second.skipped[0]
