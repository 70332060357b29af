"""Stage, check, merge: the three jobs of every source, which differ in nothing but its spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.ingest import Slice
from lakehouse.names import Table
from lakehouse.settings import Settings
from spark_jobs.checks import Check, report, run_checks
from spark_jobs.lineage import lineage_parent
from spark_jobs.tables import (
    LOAD_COLUMNS,
    SLICE_COLUMN,
    TableSchema,
    content_hash,
    ensure_table,
    first_of_each,
    replace_slice,
    unique_row_id,
)


@dataclass(frozen=True)
class Spec:
    """What a source's jobs need to know of it."""

    table: str
    columns: dict[str, str]
    """Column name to Spark SQL type: the one typed schema of staging."""
    read: Callable[[SparkSession, Slice], DataFrame]
    """The slice's files as a DataFrame of exactly `columns`."""
    checks: tuple[Check, ...]

    @property
    def staging(self) -> TableSchema:
        """`<table>_staging`: the files of one run, typed."""
        columns = self.columns | {SLICE_COLUMN: "string"}
        return TableSchema(Table(f"{self.table}_staging"), columns)

    @property
    def raw(self) -> TableSchema:
        """`<table>_raw`: every loaded file, a partition each."""
        columns = self.columns | LOAD_COLUMNS
        return TableSchema(Table(f"{self.table}_raw"), columns, (SLICE_COLUMN,))


def stage(spark: SparkSession, settings: Settings, spec: Spec, slices: list[Slice]) -> None:
    """Landing files to staging, which then holds these slices and nothing else."""
    ensure_table(spark, spec.staging)
    rows: DataFrame | None = None
    for slice_ in slices:
        typed = spec.read(spark, slice_).withColumn(SLICE_COLUMN, F.lit(slice_.name))
        rows = typed if rows is None else rows.unionByName(typed)
    if rows is not None:
        rows.writeTo(spec.staging.table.spark).overwrite(F.lit(True))


def check_staging(spark: SparkSession, settings: Settings, spec: Spec, slices: list[Slice]) -> None:
    """Check what would be published; a critical result ends the run."""
    staged = spark.table(spec.staging.table.spark)
    report(spark, settings, spec.staging.table, run_checks(staged, spec.checks))


def merge(spark: SparkSession, settings: Settings, spec: Spec, slices: list[Slice]) -> None:
    """Upsert staging into raw by source file; exact duplicates within a file collapse."""
    ensure_table(spark, spec.raw)
    run_id = lineage_parent(spark).get("parentRunId")
    columns = list(spec.columns)
    for slice_ in slices:
        staged = spark.table(spec.staging.table.spark).where(F.col(SLICE_COLUMN) == slice_.name)
        rows = first_of_each(
            staged.withColumn("unique_row_id", unique_row_id(columns)), "unique_row_id"
        ).select(
            *columns,
            "unique_row_id",
            SLICE_COLUMN,
            F.current_timestamp().alias("ingest_timestamp"),
            F.lit(run_id).cast("string").alias("openlineage_run_id"),
        )
        replace_slice(
            settings,
            rows,
            spec.raw.table,
            slice_.name,
            F.col(SLICE_COLUMN) == slice_.name,
            digest=content_hash(staged, columns),
            source_hash=slice_.source_hash,
        )
