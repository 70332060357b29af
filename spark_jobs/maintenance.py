"""What keeps the tables from growing for ever, without taking what somebody still names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from lakehouse.catalog import list_tables, load_table, note_partitions
from lakehouse.names import CATALOG
from lakehouse.settings import Settings

NO_LINEAGE = {"spark.extraListeners": ""}
"""No rows change, and Spark's listener would tell of the queries that look for files."""


def expire_snapshots(spark: SparkSession, settings: Settings) -> None:
    """Take from every table what no moment of the last KEEP_SNAPSHOTS_DAYS and no tag needs.

    A snapshot is as old as it has been replaced, not as it was written: Iceberg's own rule would
    take the one that was current for months a minute after the next, and its files from readers.
    """
    end = (datetime.now(UTC) - timedelta(days=settings.keep_snapshots_days)).timestamp() * 1000
    for name in list_tables(settings):
        table = load_table(settings, name)
        times = [snapshot.timestamp_ms for snapshot in table.metadata.snapshots] if table else []
        current_then = max((time for time in times if time <= end), default=None)
        if table is None or current_then is None or current_then == min(times):
            continue
        note_partitions(table)
        spark.catalog.refreshTable(name.spark)
        deleted = spark.sql(
            f"CALL {CATALOG}.system.expire_snapshots(table => '{name.spark}', "
            f"older_than => timestamp_millis({current_then}))"
        ).first()
        print(f"{name.name}: {deleted.asDict() if deleted else {}}")  # noqa: T201 - task log
