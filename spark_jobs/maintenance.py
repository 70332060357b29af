"""Expire old snapshots, except those that are still needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from lakehouse.catalog import list_tables, load_table, note_partitions
from lakehouse.names import CATALOG
from lakehouse.settings import Settings

NO_LINEAGE = {"spark.extraListeners": ""}
"""Disables Spark's listener: no rows change, and it would report the queries that find files."""


def expire_snapshots(spark: SparkSession, settings: Settings) -> None:
    """Expire the snapshots of all tables that were not current in the last KEEP_SNAPSHOTS_DAYS.

    Tagged snapshots are kept. A snapshot's age counts from its replacement. Iceberg's rule counts
    from its creation, so it could expire a snapshot that was current a minute ago and delete files
    that are being read.
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
