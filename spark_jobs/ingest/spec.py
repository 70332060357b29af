"""The definition of a source, which configures its jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lakehouse.errors import Conflict
from lakehouse.ingest import Partition
from lakehouse.names import Table
from lakehouse.settings import Settings
from spark_jobs.checks import Check, Result
from spark_jobs.quarantine import QUARANTINE_COLUMNS, Rule
from spark_jobs.tables import LOAD_COLUMNS, PARTITION_COLUMN, TableSchema

RowsOf = Callable[[str], Sequence[Mapping[str, Any]]]
"""Function that returns the staged rows of a partition, or the loaded ones if none is staged."""


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
    compare: Callable[[Settings, str, RowsOf], list[Result]] | None = None
    """Check of the values of a small partition, also compared with those of other partitions."""
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


def require_sources(spec: Spec, staged: Mapping[str, str], partitions: list[Partition]) -> None:
    """Raise Conflict unless staging was loaded from this run's files."""
    for partition in partitions:
        if (staged_source := staged.get(partition.name, "")) != partition.source_hash:
            raise Conflict(
                f"{spec.staging.table.name} contains {partition.name} with the source hash "
                f"{staged_source[:12] or 'unknown'}, but this run loads "
                f"{partition.source_hash[:12]}: another run staged its files in the meantime. "
                "Nothing was published. Run stage again."
            )
