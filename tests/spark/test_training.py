"""The flow on tables that the jobs have filled: real green trips and real weather where at hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.catalog import load_table
from lakehouse.ingest import Slice, land
from lakehouse.names import Table
from lakehouse.settings import Settings, load_settings
from lakehouse.sources import WEATHER
from spark_jobs import ingest, taxi, weather
from tests.conftest import train

pytestmark = pytest.mark.spark


def test_the_weather_model_forecasts_real_green_rides_from_real_weather(
    spark: SparkSession, lake: Settings, shared: Path
) -> None:
    path = shared / "data/taxi/trip-data/green_tripdata_2023-01.parquet"
    mirror = load_settings(state_dir=lake.state_dir, data_source=str(shared / "data"))
    loads = [
        (taxi.SPECS["green"], [Slice(path.name, (str(path),), "2023-01")]),
        (weather.SPEC, list(land(mirror, WEATHER, ["2023-01"]).slices)),
    ]
    for spec, slices in loads:
        for job in (ingest.stage, ingest.check_staging, ingest.merge):
            if slices:
                job(spark, lake, spec, slices)
    parameters = ("--service", "green", "--as_of_datetime", "2023-02-01T00:00")
    done = train(lake, *parameters, "--model", "weather", "--locations", "74,75,41")
    assert done.returncode == 0, done.stdout[-3000:]
    table = load_table(lake, Table("green_rides_hourly_forecast"))
    assert table is not None
    rows = table.scan(row_filter="as_of = '2023-02-01T00:00:00'").to_arrow().to_pylist()
    assert {row["model"] for row in rows} == {"weather"}
    assert len(rows) == 3 * 24
    daily = sum(row["forecasted_total_rides"] for row in rows)
    assert 700 < daily < 1_300  # the Wednesdays before had some 1,000 rides in these zones
