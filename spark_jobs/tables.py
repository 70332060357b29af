"""Tables as typed columns, and the one way in which rows get into them."""

from __future__ import annotations

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
from spark_jobs.lineage import tell_commit

if TYPE_CHECKING:
    from pyiceberg.table import Table as IcebergTable

PARTITION_COLUMN = "filename"

LOAD_COLUMNS = {
    "unique_row_id": "string",
    PARTITION_COLUMN: "string",
    "ingest_timestamp": "timestamp",
    "openlineage_run_id": "string",
}
"""What a raw table adds to the columns of its source."""


@dataclass(frozen=True)
class TableSchema:
    """A table's columns (name to Spark SQL type) and its partition transforms."""

    table: Table
    columns: dict[str, str]
    partitioned_by: tuple[str, ...] = ()
    one_partition_a_load: bool = False
    """Its rows need no shuffle then, which would bring them all to one core."""


def ensure_table(spark: SparkSession, settings: Settings, schema: TableSchema) -> None:
    """Create the table unless it exists, and give it the descriptions that are declared."""
    if not spark.catalog.tableExists(schema.table.spark):
        _create(spark, schema)
    table = load_table(settings, schema.table)
    if table is not None and describe(table):
        spark.catalog.refreshTable(schema.table.spark)


def _create(spark: SparkSession, schema: TableSchema) -> None:
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in schema.columns.items())
    partitions = ", ".join(schema.partitioned_by)
    properties = {"format-version": "2", **WRITERS_AT_ONCE}
    if schema.one_partition_a_load:
        properties |= {"write.distribution-mode": "none", "write.spark.fanout.enabled": "true"}
    given = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{DATABASE}")
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {schema.table.spark} ({columns}) USING iceberg"
        + (f" PARTITIONED BY ({partitions})" if partitions else "")
        + f" TBLPROPERTIES ({given})"
    )


def table_at(table: Table, held: IcebergTable | None) -> str:
    """Return the table as of the snapshot in `held`, as a query names it."""
    snapshot_id = held.metadata.current_snapshot_id if held else None
    return table.spark if snapshot_id is None else f"{table.spark} VERSION AS OF {snapshot_id}"


def literal(text: str) -> str:
    """Return a text as a string literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def unique_row_id(columns: list[str]) -> str:
    """128-bit hex id of a row from its typed values; it stays when a later year adds a column."""
    values = ", ".join(_values(columns))
    return (
        f"concat(lpad(hex(xxhash64({values})), 16, '0'),\n"
        f"    lpad(hex(xxhash64('second half', {values})), 16, '0'))"
    )


def _values(columns: list[str]) -> list[str]:
    """What to hash of a row: the values, and a bit for each that is there, because a null adds
    nothing to a hash and `(null, 1)` must differ from `(1, null)`."""
    there = " | ".join(f"if({name} IS NULL, 0, {1 << n})" for n, name in enumerate(columns))
    return [f"CAST({there} AS bigint)", *columns]


def first_of_each(rows: DataFrame, key: str) -> DataFrame:
    """One row of each `key`. A window rather than dropDuplicates, which Spark plans as an
    aggregation: every column's lineage would then say that it was aggregated."""
    rank = F.row_number().over(Window.partitionBy(key).orderBy(key))
    return rows.withColumn("rank", rank).where("rank = 1").drop("rank")


def contents(rows: DataFrame, columns: list[str], by: Column) -> dict[str, Contents]:
    """What the rows of each value of `by` are, from one pass over them."""
    row = F.col("row")
    hashed = F.expr(f"xxhash64({', '.join(_values(columns))})")
    distinct = rows.groupBy(by.alias("by"), hashed.alias("row")).agg(F.count("*").alias("times"))
    found = distinct.groupBy("by").agg(
        F.sum("times").alias("rows"),
        F.count("*").alias("distinct"),
        # Two sums of halves, because longs that overflow are an error and decimals are slow.
        F.sum(row.bitwiseAND(0xFFFFFFFF) * F.col("times")).alias("low"),
        F.sum(F.shiftrightunsigned(row, 32) * F.col("times")).alias("high"),
        F.bit_xor(row).alias("xor"),
    )
    return {
        each["by"]: Contents(
            each["rows"], each["distinct"], f"{each['low']:x}:{each['high']:x}:{each['xor']:x}"
        )
        for each in found.collect()
    }


def replace_partition(
    settings: Settings,
    rows: DataFrame,
    table: Table,
    partition_name: str,
    partition: Column,
    *,
    digest: str,
    source_hash: str = "",
    may_overlap: bool = False,
) -> bool:
    """Replace the rows for which `partition` holds by `rows`, in one commit; True if it wrote.

    Nothing is written when the partition was last written with the same `digest` (of the `contents`
    that the rows are made from). The commit carries the partition's name and hashes, so a crash
    before it leaves the old rows and no trace, and a run after it knows that it is done. Of partitions
    that may overlap only the one written last is known to hold what it was given.

    Raises:
        Conflict: somebody else wrote rows of the partition since this began.
    """
    held = load_table(settings, table)
    if (
        held is not None
        and loaded_content(held, partition_name) == digest
        and not (may_overlap and newest_partition(held) != partition_name)
    ):
        if source_hash and source_hash not in loaded_sources(held, partition_name):
            note_source(held, partition_name, source_hash)
        return False
    writer = (
        rows.writeTo(table.spark)
        .option(f"snapshot-property.{PARTITION}", partition_name)
        .option(f"snapshot-property.{CONTENT_HASH}", digest)
        .option(f"snapshot-property.{SOURCE_HASH}", source_hash)
    )
    before = held.metadata.current_snapshot_id if held else None
    if before is not None:  # from here on nobody else may write into the partition
        writer = writer.option("isolation-level", "serializable")
        writer = writer.option("validate-from-snapshot-id", str(before))
    try:
        writer.overwrite(partition)
    except (PySparkException, Py4JJavaError) as error:
        if "ValidationException" not in str(error) and "CommitFailed" not in str(error):
            raise
        raise Conflict(
            f"{partition_name} of {table.name} was written by somebody else meanwhile, and theirs is "
            "kept. Run the task again if yours should be."
        ) from error
    written = load_table(settings, table)
    snapshot = written.current_snapshot() if written else None
    if snapshot is not None:
        tell_commit(rows.sparkSession, settings, table, snapshot)
    return True
