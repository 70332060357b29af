"""The flow on tables from the jobs, with real green trips and real weather if available."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.catalog import load_table
from lakehouse.ingest import Partition, land
from lakehouse.names import Table
from lakehouse.settings import Settings, load_settings
from lakehouse.sources import WEATHER, WEATHER_ELEMENTS
from spark_jobs import ingest, taxi, weather
from tests.column_truth import WEATHER_MODEL, assert_same, reported, truth
from tests.conftest import card_of, train
from tests.spark.test_column_truth import columns_of, events_since, now

pytestmark = pytest.mark.spark


def test_weather_model_forecasts_real_green_rides(
    spark: SparkSession, lake: Settings, shared: Path, tmp_path: Path
) -> None:
    path = shared / "data/taxi/trip-data/green_tripdata_2023-01.parquet"
    mirror = load_settings(state_dir=lake.state_dir, data_source=str(shared / "data"))
    loads = [
        (taxi.SPECS["green"], [Partition(path.name, (str(path),), "2023-01")]),
        (weather.SPEC, list(land(mirror, WEATHER, ["2023-01"]).partitions)),
    ]
    for spec, partitions in loads:
        for job in (ingest.stage, ingest.check_staging, ingest.merge):
            if partitions:
                job(spark, lake, spec, partitions)
    start = now()
    parameters = ("--service", "green", "--as_of_datetime", "2023-02-01T00:00")
    done = train(lake, *parameters, "--model", "weather", "--locations", "74,75,41")
    assert done.returncode == 0, done.stdout[-3000:]
    table = load_table(lake, Table("green_rides_hourly_forecast"))
    assert table is not None
    rows = table.scan(row_filter="as_of = '2023-02-01T00:00:00'").to_arrow().to_pylist()
    assert {row["model"] for row in rows} == {"weather"}
    events = events_since(start, spark, lake)
    for name, columns in {
        "training_data": ("unique_id", "ds", "y", "county_code", *WEATHER_ELEMENTS),
        "model": ("unique_id", "ds", "forecast"),
    }.items():
        edges = reported(columns_of(f"TrainForecastModelFlow/{name}", events, tmp_path))
        assert_same(name, edges, truth(WEATHER_MODEL[name], columns, {}))
    assert len(rows) == 3 * 24
    daily = sum(row["forecasted_total_rides"] for row in rows)
    assert 700 < daily < 1_300  # earlier Wednesdays had about 1,000 rides in these zones
    card = card_of(lake, rows[0]["model_version"])
    metrics, lineage = (part["data"] for part in card if part["type"] == "table")
    assert [name for name, _, _ in metrics] == ["weather", "seasonal_naive"]
    assert [name for _, name, _ in lineage] == [
        "nyc_taxi.green_rides_hourly_actuals",
        "nyc_taxi.weather_raw",
        "nyc_taxi.green_rides_hourly_forecast",
    ]
    _, zones = (part["spec"]["data"]["values"] for part in card if part["type"] == "vegaChart")
    assert {row["zone"] for row in zones} == {"zone 74", "zone 75", "zone 41"}
