from __future__ import annotations

import re
from datetime import datetime

import pandas as pd
import pytest
import sqlglot
from pyspark.sql import SparkSession

from lakehouse.catalog import load_table, open_catalog
from lakehouse.forecasts import FORECAST, newest_forecasts
from lakehouse.names import CATALOG, DATABASE
from lakehouse.settings import REPOSITORY, Settings
from metaflow_flows.train_forecast_model.tables import forecast_rows, write_forecasts

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True, scope="module")
def database(lake: Settings) -> None:
    catalog = open_catalog(lake)
    if not catalog.namespace_exists(DATABASE):
        catalog.create_namespace(DATABASE)


def forecasts(start: datetime, zones: list[int], rides: float) -> pd.DataFrame:
    hours = pd.date_range(start, periods=2, freq="h")
    return pd.DataFrame(
        [{"unique_id": zone, "ds": hour, "forecast": rides} for zone in zones for hour in hours]
    )


def write(settings: Settings, forecasts: pd.DataFrame, as_of: datetime, version: str) -> None:
    rows = forecast_rows(forecasts, as_of, "seasonal_naive", version)
    write_forecasts(settings, "yellow", rows, as_of)


def documented_queries() -> list[str]:
    """Return the queries of docs/how-to/sql.md for Spark and for Athena."""
    return re.findall(
        r"```sql\n(.*?)```", (REPOSITORY / "docs/how-to/sql.md").read_text(), re.DOTALL
    )


def athena_query() -> str:
    """Return the query for Athena."""
    return documented_queries()[1]


def test_documented_queries_return_the_newest_forecasts(
    spark: SparkSession, lake: Settings
) -> None:
    may, june = datetime(2025, 5, 1), datetime(2025, 6, 1)
    write(lake, forecasts(june, [10], 4.6), june, "2")
    write(lake, forecasts(may, [10, 11], 1.0), may, "1")
    spark.sql(f"USE {CATALOG}.{DATABASE}")
    results = [tuple(row) for row in spark.sql(documented_queries()[0]).collect()]
    (translated,) = sqlglot.transpile(athena_query(), read="athena", write="spark")
    assert [tuple(row) for row in spark.sql(translated).collect()] == results
    assert results == [(datetime(2025, 6, 1, 0), 10, 5), (datetime(2025, 6, 1, 1), 10, 5)]
    columns = ("datetime_hour", "pulocationid", "forecasted_total_rides")
    newest = newest_forecasts(lake)
    assert [tuple(row[column] for column in columns) for row in newest] == results


def test_new_forecast_replaces_only_the_same_as_of(spark: SparkSession, lake: Settings) -> None:
    april, other = datetime(2025, 4, 1), datetime(2024, 4, 1)
    write(lake, forecasts(other, [7], 1.0), other, "0")
    for version in ("1", "2"):
        write(lake, forecasts(april, [7], 3.0), april, version)
    table = load_table(lake, FORECAST)
    assert table is not None
    rows = table.scan(row_filter="as_of = '2025-04-01T00:00:00'").to_arrow().to_pylist()
    assert [row["model_version"] for row in rows] == ["2", "2"]
    assert table.scan(row_filter="as_of = '2024-04-01T00:00:00'").to_arrow().num_rows == 2
