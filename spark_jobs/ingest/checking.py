"""The job check_staging: check the staged rows before they are published."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import (
    load_table,
    note_passed,
    partition_rows,
    quarantined_rows,
    rows_by_partition,
    staged_sources,
)
from lakehouse.ingest import Partition
from lakehouse.settings import Settings
from spark_jobs.checks import report, run_checks
from spark_jobs.ingest.spec import Spec, require_sources
from spark_jobs.quarantine import quarantine_results
from spark_jobs.tables import PARTITION_COLUMN, contents, table_at

if TYPE_CHECKING:
    from pyiceberg.table import Table as IcebergTable


def check_staging(
    spark: SparkSession, settings: Settings, spec: Spec, partitions: list[Partition]
) -> None:
    """Check staging before it is published; mark it as passed unless a critical check fails.

    Raises:
        ChecksFailed: a critical check failed.
        Conflict: staging contains files that another run staged.
    """
    loaded = load_table(settings, spec.raw.table)
    raw = rows_by_partition(loaded)
    previous_rows = {partition.name: raw.get(partition.name, 0) for partition in partitions}
    passed = load_table(settings, spec.staging.table)
    if passed is not None:
        require_sources(spec, staged_sources(passed), partitions)
    staged = spark.sql(f"SELECT * FROM {table_at(spec.staging.table, passed)}")
    checked_contents = contents(staged, list(spec.columns), by=F.col(PARTITION_COLUMN))
    results = run_checks(staged, PARTITION_COLUMN, spec.checks, checked_contents, previous_rows)
    if spec.rules:
        quarantined = quarantined_rows(passed)
        results += quarantine_results(settings, quarantined, spec.staging.table, partitions)
    if spec.compare:
        for name in previous_rows:
            results += spec.compare(settings, name, partial(_rows, passed, loaded))
    report(spark, settings, spec.staging.table, results)
    if passed is not None:
        note_passed(passed, checked_contents)


def _rows(
    staged: IcebergTable | None, loaded: IcebergTable | None, partition: str
) -> list[dict[str, object]]:
    """Return the staged rows of a partition, or the loaded ones if none is staged."""
    return partition_rows(staged, partition) or partition_rows(loaded, partition)
