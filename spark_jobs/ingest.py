"""The jobs stage, check_staging and merge, which each source configures with a `Spec`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import (
    STAGED,
    load_table,
    note_passed,
    passed_contents,
    quarantined_rows,
    rows_by_partition,
    staged_sources,
)
from lakehouse.errors import BadSourceFile, ChecksFailed, Conflict
from lakehouse.ingest import Partition
from lakehouse.names import Table, file_dataset
from lakehouse.settings import Settings
from spark_jobs.checks import Check, report, run_checks
from spark_jobs.conform import Drift, conform
from spark_jobs.lineage import lineage_parent, report_checks
from spark_jobs.quarantine import (
    QUARANTINE_COLUMNS,
    Rule,
    Sifted,
    quarantine_results,
    sift,
    unchanged,
    write_quarantine,
)
from spark_jobs.tables import (
    LOAD_COLUMNS,
    PARTITION_COLUMN,
    TableSchema,
    contents,
    ensure_table,
    first_of_each,
    literal,
    replace_partition,
    table_at,
    unique_row_id,
)


@dataclass(frozen=True)
class Spec:
    """Definition of a source: its schema, reader and checks."""

    table: str
    columns: dict[str, str]
    """Spark SQL type by column name: the schema of staging."""
    required: frozenset[str]
    """Columns that a file must have."""
    read: Callable[[SparkSession, Partition], str]
    """Returns the SQL relation or subquery that reads a partition's files unchanged."""
    checks: tuple[Check, ...]
    check_files: Callable[[Settings, Partition], None] | None = None
    """Check of a partition's landed files before Spark reads them; raises BadSourceFile."""
    rules: Callable[[Partition], tuple[Rule, ...]] | None = None
    """Rules for the values of a row; one that breaks a rule goes to quarantine."""

    @property
    def staging(self) -> TableSchema:
        """`<table>_staging`: the files of one run, typed."""
        columns = self.columns | {PARTITION_COLUMN: "string"}
        return TableSchema(Table(f"{self.table}_staging"), columns)

    @property
    def raw(self) -> TableSchema:
        """`<table>_raw`: the rows of all loaded files, one partition per file."""
        columns = self.columns | LOAD_COLUMNS
        return TableSchema(
            Table(f"{self.table}_raw"), columns, (PARTITION_COLUMN,), one_partition_per_load=True
        )

    @property
    def quarantine(self) -> TableSchema:
        """`<table>_quarantine`: the rows with impossible values, one partition per file."""
        columns = self.columns | QUARANTINE_COLUMNS
        table = Table(f"{self.table}_quarantine")
        return TableSchema(table, columns, (PARTITION_COLUMN,), one_partition_per_load=True)


def stage(spark: SparkSession, settings: Settings, spec: Spec, partitions: list[Partition]) -> None:
    """Load landed files into staging, which then contains only these partitions.

    Raises:
        BadSourceFile: a file cannot be read, fails its source's check or has another schema.
            Staging is unchanged.
    """
    ensure_table(spark, settings, spec.staging)
    rows: DataFrame | None = None
    sifted: list[Sifted] = []
    for partition in partitions:
        if spec.check_files:
            spec.check_files(settings, partition)
        with _naming_files(partition):
            query, drift = _typed(spark, spec, partition)
        _report(spark, settings, partition, drift)
        if spec.rules:
            narrowed = (unchanged(name, spec.columns[name]) for name in drift.narrowed)
            sifted.append(sift(spark, query, partition, (*spec.rules(partition), *narrowed)))
            typed = sifted[-1].possible.select(*spec.staging.columns)
        else:
            typed = spark.sql(query)
        rows = typed if rows is None else rows.unionByName(typed)
    if rows is not None:
        with _naming_files(*partitions):
            sources = json.dumps(
                {partition.name: partition.source_hash for partition in partitions}
            )
            writer = rows.writeTo(spec.staging.table.spark)
            writer.option(f"snapshot-property.{STAGED}", sources).overwrite(F.lit(True))
            if sifted:
                write_quarantine(spark, settings, spec.quarantine, spec.staging.table, sifted)


def _typed(spark: SparkSession, spec: Spec, partition: Partition) -> tuple[str, Drift]:
    """Return the query for a partition's files with typed columns, and the files' differences."""
    files = spec.read(spark, partition)
    schema = spark.sql(f"SELECT * FROM {files}").schema
    select, drift = conform(schema, spec.columns, spec.required, partition.name)
    select.append(f"{literal(partition.name)} AS {PARTITION_COLUMN}")
    return "SELECT\n  " + ",\n  ".join(select) + f"\nFROM {files}", drift


@contextmanager
def _naming_files(*partitions: Partition) -> Iterator[None]:
    """Re-raise Spark read errors as BadSourceFile, naming the files."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        paths = ", ".join(path for partition in partitions for path in partition.paths)
        causes = [line for line in str(error).splitlines() if "Exception: " in line]
        cause = (causes or [str(error)])[-1].split("Exception: ", 1)[-1]
        raise BadSourceFile(
            f"Spark cannot read {paths}: {cause}. Check the file at its publisher, delete the "
            "landed file, then run the task again."
        ) from error


def _report(spark: SparkSession, settings: Settings, partition: Partition, drift: Drift) -> None:
    """Log the columns that a file lacks, and report unknown columns to lineage."""
    if drift.missing:
        print(f"{drift.file} lacks {', '.join(drift.missing)}: null")  # noqa: T201 - task log
    if not drift.unknown:
        return
    names = ", ".join(drift.unknown)
    print(f"warning: {drift.file}: unknown columns ignored: {names}")  # noqa: T201 - task log
    failed: dict[str, Any] = {"assertion": "known_columns", "success": False, "severity": "warn"}
    failed |= {"expected": "only columns of the table", "actual": names}
    for path in partition.paths:
        report_checks(spark, settings, file_dataset(path), [failed])


def _require_sources(spec: Spec, staged: Mapping[str, str], partitions: list[Partition]) -> None:
    """Raise Conflict unless staging was loaded from this run's files."""
    for partition in partitions:
        if (staged_source := staged.get(partition.name, "")) != partition.source_hash:
            raise Conflict(
                f"{spec.staging.table.name} contains {partition.name} with the source hash "
                f"{staged_source[:12] or 'unknown'}, but this run loads "
                f"{partition.source_hash[:12]}: another run staged its files in the meantime. "
                "Nothing was published. Run stage again."
            )


def check_staging(
    spark: SparkSession, settings: Settings, spec: Spec, partitions: list[Partition]
) -> None:
    """Check staging before it is published; mark it as passed unless a critical check fails.

    Raises:
        ChecksFailed: a critical check failed.
        Conflict: staging contains files that another run staged.
    """
    raw = rows_by_partition(load_table(settings, spec.raw.table))
    previous_rows = {partition.name: raw.get(partition.name, 0) for partition in partitions}
    passed = load_table(settings, spec.staging.table)
    if passed is not None:
        _require_sources(spec, staged_sources(passed), partitions)
    staged = spark.sql(f"SELECT * FROM {table_at(spec.staging.table, passed)}")
    checked_contents = contents(staged, list(spec.columns), by=F.col(PARTITION_COLUMN))
    results = run_checks(staged, PARTITION_COLUMN, spec.checks, checked_contents, previous_rows)
    if spec.rules:
        quarantined = quarantined_rows(passed)
        results += quarantine_results(settings, quarantined, spec.staging.table, partitions)
    report(spark, settings, spec.staging.table, results)
    if passed is not None:
        note_passed(passed, checked_contents)


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
    _require_sources(spec, passed.sources, partitions)
    ensure_table(spark, settings, spec.raw)
    staging_version = table_at(spec.staging.table, staging)
    for partition in partitions:
        checked_content = passed.contents[partition.name]
        rows = spark.sql(_published(spark, spec, staging_version, partition))
        if checked_content.distinct < checked_content.rows:
            rows = first_of_each(rows, "unique_row_id")
        replace_partition(
            settings,
            rows,
            spec.raw.table,
            partition.name,
            F.col(PARTITION_COLUMN) == partition.name,
            digest=checked_content.digest,
            source_hash=partition.source_hash,
        )


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
