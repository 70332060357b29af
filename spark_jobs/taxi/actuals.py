"""Count rides per hour and zone from the raw trips."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import Contents
from lakehouse.names import Table
from lakehouse.settings import Settings
from spark_jobs.lineage import Loaded, Source
from spark_jobs.tables import (
    TableSchema,
    contents,
    ensure_table,
    replace_partition,
    report_newest_commit,
)
from spark_jobs.taxi import PICKUP, SPECS

SQL = Path(__file__).with_name("hourly_actuals.sql").read_text()


def actuals(service: str) -> TableSchema:
    """Return the schema of a service's rides per hour and pickup zone."""
    return TableSchema(
        Table(f"{service}_rides_hourly_actuals"),
        {"datetime_hour": "timestamp_ntz", "pulocationid": "int", "total_rides": "bigint"},
        ("days(datetime_hour)",),
    )


def compute_actuals(
    spark: SparkSession, settings: Settings, service: str, start: datetime, end: datetime
) -> bool:
    """Replace the hours of [start, end), both at midnight; return True if anything changed."""
    schema = actuals(service)
    raw = SPECS[service].raw.table
    ensure_table(spark, settings, schema)
    sql = SQL.format(raw=raw.spark, pickup=PICKUP[service], start=start, end=end)
    rows = spark.sql(sql).cache()
    hour = F.col("datetime_hour")
    window = f"{start.isoformat()}/{end.isoformat()}"
    window_contents = contents(rows, list(schema.columns), by=F.lit(window))
    loaded = [Loaded({"datetime_hour": window}, (Source(raw.dataset(settings)),))]
    has_written = replace_partition(
        settings,
        rows,
        schema.table,
        window,
        (hour >= F.lit(start).cast("timestamp_ntz")) & (hour < F.lit(end).cast("timestamp_ntz")),
        digest=window_contents.get(window, Contents()).digest,
        may_overlap=True,
        loaded=loaded,
    )
    if not has_written:
        report_newest_commit(spark, settings, schema.table, loaded, has_written=False)
    return has_written
