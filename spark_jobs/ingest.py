"""Stage, check, merge: the three jobs of every source, which differ in nothing but its spec."""

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
    rows_by_slice,
    staged_sources,
)
from lakehouse.errors import BadSourceFile, ChecksFailed, Conflict
from lakehouse.ingest import Slice
from lakehouse.names import Table, file_dataset
from lakehouse.settings import Settings
from spark_jobs.checks import Check, report, run_checks
from spark_jobs.conform import Drift, conform
from spark_jobs.lineage import lineage_parent, tell_checks
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
    SLICE_COLUMN,
    TableSchema,
    contents,
    ensure_table,
    first_of_each,
    literal,
    replace_slice,
    table_at,
    unique_row_id,
)


@dataclass(frozen=True)
class Spec:
    """What a source's jobs need to know of it."""

    table: str
    columns: dict[str, str]
    """Column name to Spark SQL type: the one typed schema of staging."""
    required: frozenset[str]
    """Columns without which a file is not one of this source."""
    read: Callable[[SparkSession, Slice], str]
    """The slice's files as they are, as a query names them: a relation or a subquery."""
    checks: tuple[Check, ...]
    check_files: Callable[[Settings, Slice], None] | None = None
    """Check of a slice's landed files before Spark reads them; raises BadSourceFile."""
    rules: Callable[[Slice], tuple[Rule, ...]] | None = None
    """Rules for the values of a row; one that breaks a rule goes to quarantine."""

    @property
    def staging(self) -> TableSchema:
        """`<table>_staging`: the files of one run, typed."""
        columns = self.columns | {SLICE_COLUMN: "string"}
        return TableSchema(Table(f"{self.table}_staging"), columns)

    @property
    def raw(self) -> TableSchema:
        """`<table>_raw`: every loaded file, a partition each."""
        columns = self.columns | LOAD_COLUMNS
        return TableSchema(
            Table(f"{self.table}_raw"), columns, (SLICE_COLUMN,), one_partition_a_load=True
        )

    @property
    def quarantine(self) -> TableSchema:
        """`<table>_quarantine`: the rows with impossible values, a partition per file."""
        columns = self.columns | QUARANTINE_COLUMNS
        table = Table(f"{self.table}_quarantine")
        return TableSchema(table, columns, (SLICE_COLUMN,), one_partition_a_load=True)


def stage(spark: SparkSession, settings: Settings, spec: Spec, slices: list[Slice]) -> None:
    """Load landed files into staging, which then contains only these slices.

    Raises:
        BadSourceFile: a file cannot be read, fails its source's check or has another schema;
            staging stays as it was.
    """
    ensure_table(spark, settings, spec.staging)
    rows: DataFrame | None = None
    sifted: list[Sifted] = []
    for slice_ in slices:
        if spec.check_files:
            spec.check_files(settings, slice_)
        with _named(slice_):
            query, drift = _typed(spark, spec, slice_)
        _report(spark, settings, slice_, drift)
        if spec.rules:
            narrowed = (unchanged(name, spec.columns[name]) for name in drift.narrowed)
            sifted.append(sift(spark, query, slice_, (*spec.rules(slice_), *narrowed)))
            typed = sifted[-1].possible.select(*spec.staging.columns)
        else:
            typed = spark.sql(query)
        rows = typed if rows is None else rows.unionByName(typed)
    if rows is not None:
        with _named(*slices):
            sources = json.dumps({slice_.name: slice_.source_hash for slice_ in slices})
            writer = rows.writeTo(spec.staging.table.spark)
            writer.option(f"snapshot-property.{STAGED}", sources).overwrite(F.lit(True))
            if sifted:
                write_quarantine(spark, settings, spec.quarantine, spec.staging.table, sifted)


def _typed(spark: SparkSession, spec: Spec, slice_: Slice) -> tuple[str, Drift]:
    """Return the query of a slice's files with typed columns, and how the files differ."""
    files = spec.read(spark, slice_)
    schema = spark.sql(f"SELECT * FROM {files}").schema
    select, drift = conform(schema, spec.columns, spec.required, slice_.name)
    select.append(f"{literal(slice_.name)} AS {SLICE_COLUMN}")
    return "SELECT\n  " + ",\n  ".join(select) + f"\nFROM {files}", drift


@contextmanager
def _named(*slices: Slice) -> Iterator[None]:
    """Spark's word on a file that it cannot read, as an error that names the file."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        paths = ", ".join(path for slice_ in slices for path in slice_.paths)
        causes = [line for line in str(error).splitlines() if "Exception: " in line]
        cause = (causes or [str(error)])[-1].split("Exception: ", 1)[-1]
        raise BadSourceFile(
            f"{paths} cannot be read: {cause}. Delete what was landed, look at what the publisher "
            "has, then run the task again."
        ) from error


def _report(spark: SparkSession, settings: Settings, slice_: Slice, drift: Drift) -> None:
    """Columns that a file lacks are usual for its year; those that nobody knows are told."""
    if drift.missing:
        print(f"{drift.file} has no {', '.join(drift.missing)}: null")  # noqa: T201 - task log
    if not drift.unknown:
        return
    names = ", ".join(drift.unknown)
    print(f"warning: {drift.file} has columns left out: {names}")  # noqa: T201 - task log
    known: dict[str, Any] = {"assertion": "known_columns", "success": False, "severity": "warn"}
    known |= {"expected": "no column that the table has not", "actual": names}
    for path in slice_.paths:
        tell_checks(spark, settings, file_dataset(path), [known])


def _require_sources(spec: Spec, staged: Mapping[str, str], slices: list[Slice]) -> None:
    """Raise Conflict unless staging was loaded from this run's files."""
    for slice_ in slices:
        if (found := staged.get(slice_.name, "")) != slice_.source_hash:
            raise Conflict(
                f"{spec.staging.table.name} holds {slice_.name} of the source "
                f"{found[:12] or 'unknown'}, and this run loads {slice_.source_hash[:12]}: another "
                "run staged its files meanwhile. Nothing was published; run stage again."
            )


def check_staging(spark: SparkSession, settings: Settings, spec: Spec, slices: list[Slice]) -> None:
    """Check staging before it is published; mark it as passed unless a critical check fails.

    Raises:
        ChecksFailed: a critical check failed.
            Conflict: staging contains files that another run staged.
    """
    raw = rows_by_slice(load_table(settings, spec.raw.table))
    held = {slice_.name: raw.get(slice_.name, 0) for slice_ in slices}
    passed = load_table(settings, spec.staging.table)
    if passed is not None:
        _require_sources(spec, staged_sources(passed), slices)
    staged = spark.sql(f"SELECT * FROM {table_at(spec.staging.table, passed)}")
    found = contents(staged, list(spec.columns), by=F.col(SLICE_COLUMN))
    results = run_checks(staged, SLICE_COLUMN, spec.checks, found, held)
    if spec.rules:
        kept_out = quarantined_rows(passed)
        results += quarantine_results(settings, kept_out, spec.staging.table, slices)
    report(spark, settings, spec.staging.table, results)
    if passed is not None:
        note_passed(passed, found)


def merge(spark: SparkSession, settings: Settings, spec: Spec, slices: list[Slice]) -> None:
    """Upsert staging into raw by source file; exact duplicates within a file are merged.

    Raises:
        ChecksFailed: staging changed since it passed the checks.
            Conflict: staging contains files that another run staged, or another run loaded the same
                file meanwhile.
    """
    staging = load_table(settings, spec.staging.table)
    passed = passed_contents(staging)
    if passed is None or not {slice_.name for slice_ in slices} <= passed.contents.keys():
        raise ChecksFailed(
            f"{spec.staging.table.name} is not what passed its checks: it was written since, or "
            "never passed. Nothing was published; run check_staging again."
        )
    _require_sources(spec, passed.sources, slices)
    ensure_table(spark, settings, spec.raw)
    checked = table_at(spec.staging.table, staging)
    for slice_ in slices:
        made_of = passed.contents[slice_.name]
        rows = spark.sql(_published(spark, spec, checked, slice_))
        if made_of.distinct < made_of.rows:
            rows = first_of_each(rows, "unique_row_id")
        replace_slice(
            settings,
            rows,
            spec.raw.table,
            slice_.name,
            F.col(SLICE_COLUMN) == slice_.name,
            digest=made_of.digest,
            source_hash=slice_.source_hash,
        )


def _published(spark: SparkSession, spec: Spec, checked: str, slice_: Slice) -> str:
    """Return the query of a slice's rows in the shape of raw."""
    columns = list(spec.columns)
    run_id = lineage_parent(spark).get("parentRunId")
    return (
        f"SELECT {', '.join(columns)},\n"
        f"  {unique_row_id(columns)} AS unique_row_id,\n"
        f"  {SLICE_COLUMN},\n"
        "  current_timestamp() AS ingest_timestamp,\n"
        f"  CAST({literal(run_id) if run_id else 'NULL'} AS string) AS openlineage_run_id\n"
        f"FROM {checked}\n"
        f"WHERE {SLICE_COLUMN} = {literal(slice_.name)}"
    )
