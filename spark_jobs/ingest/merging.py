"""The job merge: publish the staged rows that passed their checks."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import load_table, loaded_content, passed_contents
from lakehouse.errors import ChecksFailed
from lakehouse.ingest import Partition
from lakehouse.settings import Settings
from spark_jobs.ingest.spec import Spec, require_sources
from spark_jobs.lineage import Source, lineage_parent
from spark_jobs.tables import (
    PARTITION_COLUMN,
    ensure_table,
    first_of_each,
    literal,
    loaded_from,
    replace_partition,
    report_newest_commit,
    table_at,
    unique_row_id,
)


def merge(spark: SparkSession, settings: Settings, spec: Spec, partitions: list[Partition]) -> None:
    """Upsert staging into raw by source file; exact duplicates within a file are merged.

    Raises:
        ChecksFailed: staging changed since it passed the checks.
        Conflict: another run staged files, or loaded the same file, in the meantime.
    """
    staging = load_table(settings, spec.staging.table)
    passed = passed_contents(staging)
    if passed is None or not {partition.name for partition in partitions} <= passed.contents.keys():
        raise ChecksFailed(
            f"{spec.staging.table.name} has not passed its checks, or was written since. Nothing "
            "was published. Run check_staging again."
        )
    require_sources(spec, passed.sources, partitions)
    ensure_table(spark, settings, spec.raw)
    staging_version = table_at(spec.staging.table, staging)
    raw = load_table(settings, spec.raw.table)
    staged = spec.staging.table.dataset(settings)
    loads = {
        partition.name: loaded_from(
            partition.name, Source(staged, {PARTITION_COLUMN: partition.name})
        )
        for partition in partitions
    }
    unchanged = [
        load
        for name, load in loads.items()
        if raw and loaded_content(raw, name) == passed.contents[name].digest
    ]
    has_written = False
    for partition in partitions:
        checked_content = passed.contents[partition.name]
        rows = spark.sql(_published(spark, spec, staging_version, partition))
        if checked_content.distinct < checked_content.rows:
            rows = first_of_each(rows, "unique_row_id")
        has_written |= replace_partition(
            settings,
            rows,
            spec.raw.table,
            partition.name,
            F.col(PARTITION_COLUMN) == partition.name,
            digest=checked_content.digest,
            source_hash=partition.source_hash,
            loaded=[loads[partition.name], *unchanged],
        )
    if not has_written:
        found = list(loads.values())
        report_newest_commit(spark, settings, spec.raw.table, found, has_written=False)


def _published(spark: SparkSession, spec: Spec, checked: str, partition: Partition) -> str:
    """Return the query for a partition's rows with the columns of raw."""
    columns = list(spec.columns)
    run_id = lineage_parent(spark).get("parentRunId")
    return (
        f"SELECT {', '.join(columns)},\n"
        f"  {unique_row_id(columns)} AS unique_row_id,\n"
        f"  {PARTITION_COLUMN},\n"
        "  current_timestamp() AS ingest_timestamp,\n"
        f"  CAST({literal(run_id) if run_id else 'NULL'} AS string) AS openlineage_run_id\n"
        f"FROM {checked}\n"
        f"WHERE {PARTITION_COLUMN} = {literal(partition.name)}"
    )
