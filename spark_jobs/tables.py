"""Create tables from typed columns and replace their partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.catalog import (
    CONTENT_HASH,
    PARTITION,
    SOURCE_HASH,
    WRITERS_AT_ONCE,
    Contents,
    load_table,
    loaded_content,
    loaded_sources,
    newest_partition,
    note_source,
)
from lakehouse.descriptions import describe
from lakehouse.errors import Conflict
from lakehouse.names import CATALOG, DATABASE, Table
from lakehouse.settings import Settings
from spark_jobs.lineage import Loaded, Source, report_commit

if TYPE_CHECKING:
    from pyiceberg.table import Table as IcebergTable

PARTITION_COLUMN = "filename"

LOAD_COLUMNS = {
    "unique_row_id": "string",
    PARTITION_COLUMN: "string",
    "ingest_timestamp": "timestamp",
    "openlineage_run_id": "string",
}
"""Columns that a raw table has in addition to those of its source."""


@dataclass(frozen=True)
class TableSchema:
    """A table's columns (name to Spark SQL type) and its partition transforms."""

    table: Table
    columns: dict[str, str]
    partitioned_by: tuple[str, ...] = ()
    one_partition_per_load: bool = False
    """If True, rows are written without a shuffle, which would move them all to one core."""


def ensure_table(spark: SparkSession, settings: Settings, schema: TableSchema) -> None:
    """Create the table unless it exists, and write its declared descriptions."""
    if not spark.catalog.tableExists(schema.table.spark):
        _create(spark, schema)
    table = load_table(settings, schema.table)
    if table is not None and describe(table):
        spark.catalog.refreshTable(schema.table.spark)


def _create(spark: SparkSession, schema: TableSchema) -> None:
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in schema.columns.items())
    partitions = ", ".join(schema.partitioned_by)
    properties = {"format-version": "2", **WRITERS_AT_ONCE}
    if schema.one_partition_per_load:
        properties |= {"write.distribution-mode": "none", "write.spark.fanout.enabled": "true"}
    table_properties = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{DATABASE}")
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {schema.table.spark} ({columns}) USING iceberg"
        + (f" PARTITIONED BY ({partitions})" if partitions else "")
        + f" TBLPROPERTIES ({table_properties})"
    )


def table_at(table: Table, loaded: IcebergTable | None) -> str:
    """Return the SQL relation of the table at the snapshot of `loaded`."""
    snapshot_id = loaded.metadata.current_snapshot_id if loaded else None
    return table.spark if snapshot_id is None else f"{table.spark} VERSION AS OF {snapshot_id}"


def literal(text: str) -> str:
    """Return a string as a Spark SQL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def unique_row_id(columns: list[str]) -> str:
    """Return SQL for a 128-bit hex id from a row's typed values; new columns do not change it."""
    values = ", ".join(_values(columns))
    return (
        f"concat(lpad(hex(xxhash64({values})), 16, '0'),\n"
        f"    lpad(hex(xxhash64('second half', {values})), 16, '0'))"
    )


def _values(columns: list[str]) -> list[str]:
    """Return the SQL values to hash for a row: the values and a bit mask of those not null.

    A null adds nothing to a hash, and `(null, 1)` must differ from `(1, null)`.
    """
    not_null = " | ".join(f"if({name} IS NULL, 0, {1 << n})" for n, name in enumerate(columns))
    return [f"CAST({not_null} AS bigint)", *columns]


def first_of_each(rows: DataFrame, key: str) -> DataFrame:
    """Return one row per `key`.

    It uses a window, because Spark plans dropDuplicates as an aggregation, and the lineage of all
    columns would then be an aggregation.
    """
    rank = F.row_number().over(Window.partitionBy(key).orderBy(key))
    return rows.withColumn("rank", rank).where("rank = 1").drop("rank")


def contents(rows: DataFrame, columns: list[str], by: Column) -> dict[str, Contents]:
    """Return the contents of the rows per value of `by`, from one pass over them."""
    row = F.col("row")
    hashed = F.expr(f"xxhash64({', '.join(_values(columns))})")
    distinct = rows.groupBy(by.alias("by"), hashed.alias("row")).agg(F.count("*").alias("times"))
    groups = distinct.groupBy("by").agg(
        F.sum("times").alias("rows"),
        F.count("*").alias("distinct"),
        # Halves are summed separately, because overflowing longs raise and decimals are slow.
        F.sum(row.bitwiseAND(0xFFFFFFFF) * F.col("times")).alias("low"),
        F.sum(F.shiftrightunsigned(row, 32) * F.col("times")).alias("high"),
        F.bit_xor(row).alias("xor"),
    )
    return {
        row_["by"]: Contents(
            row_["rows"], row_["distinct"], f"{row_['low']:x}:{row_['high']:x}:{row_['xor']:x}"
        )
        for row_ in groups.collect()
    }


def replace_partition(
    settings: Settings,
    rows: DataFrame,
    table: Table,
    partition_name: str,
    condition: Column,
    *,
    digest: str,
    source_hash: str = "",
    may_overlap: bool = False,
    loaded: Sequence[Loaded] = (),
) -> bool:
    """Replace the rows that match `condition` by `rows` in one commit; return True if it wrote.

    Nothing is written if the partition was last written with the same `digest` (of the `contents`
    from which the rows are computed). The commit stores the partition's name and hashes. So after
    a crash before the commit the old rows are unchanged, and after it the next run skips the
    partition. If partitions may overlap, only the one written last is skipped. If it
    writes, lineage reports `loaded`: the partitions that the commit replaced, or that were up to
    date. Otherwise, nothing is reported.

    Raises:
        Conflict: another writer changed rows of the partition since the start.
    """
    current = load_table(settings, table)
    if (
        current is not None
        and loaded_content(current, partition_name) == digest
        and not (may_overlap and newest_partition(current) != partition_name)
    ):
        if source_hash and source_hash not in loaded_sources(current, partition_name):
            note_source(current, partition_name, source_hash)
        return False
    writer = (
        rows.writeTo(table.spark)
        .option(f"snapshot-property.{PARTITION}", partition_name)
        .option(f"snapshot-property.{CONTENT_HASH}", digest)
        .option(f"snapshot-property.{SOURCE_HASH}", source_hash)
    )
    before = current.metadata.current_snapshot_id if current else None
    if before is not None:  # the commit fails if another writer changed the partition since
        writer = writer.option("isolation-level", "serializable")
        writer = writer.option("validate-from-snapshot-id", str(before))
    try:
        writer.overwrite(condition)
    except (PySparkException, Py4JJavaError) as error:
        if "ValidationException" not in str(error) and "CommitFailed" not in str(error):
            raise
        raise Conflict(
            f"Another writer changed {partition_name} of {table.name} in the meantime; its rows "
            "are kept. Run the task again to replace them."
        ) from error
    report_newest_commit(rows.sparkSession, settings, table, loaded)
    return True


def report_newest_commit(
    spark: SparkSession,
    settings: Settings,
    table: Table,
    loaded: Sequence[Loaded] = (),
    *,
    has_written: bool = True,
) -> None:
    """Report the version, the rows and the partitions of a table's newest commit for the task."""
    written = load_table(settings, table)
    snapshot = written.current_snapshot() if written else None
    if snapshot is not None:
        report_commit(spark, settings, table, snapshot, loaded, has_written=has_written)


def loaded_from(partition_name: str, *sources: Source) -> Loaded:
    """Return a partition by source file, with the sources of its rows, to report it."""
    return Loaded({PARTITION_COLUMN: partition_name}, sources)
