"""Quarantine rows with impossible values in a separate table, with the reason.

One pass writes staging and counts the rows that break a rule. A second pass writes these rows, if
there are any. The counts are stored on staging, so that `check_staging` can reject a file if more
than MAX_QUARANTINED_SHARE of its rows are impossible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import Quarantined, load_table, note_quarantined, rows_by_partition
from lakehouse.errors import ChecksFailed
from lakehouse.ingest import Partition
from lakehouse.names import Table, file_dataset
from lakehouse.settings import Settings
from spark_jobs.checks import Check, Result
from spark_jobs.conform import RECEIVED
from spark_jobs.lineage import lineage_parent, report_checks
from spark_jobs.tables import PARTITION_COLUMN, TableSchema, ensure_table

IMPOSSIBLE = "is_impossible"

QUARANTINE_COLUMNS = {
    PARTITION_COLUMN: "string",
    "reason": "string",
    "quarantined_at": "timestamp",
    "openlineage_run_id": "string",
}
"""Columns that a quarantine table has in addition to those of its source."""


@dataclass(frozen=True)
class Rule:
    """A rule for the values of a row; `broken` is an SQL condition, and null means not broken."""

    assertion: str
    column: str
    broken: str
    allowed: str
    received: str = ""
    """The column with the file's original value, if it is not `column`."""

    @property
    def reason(self) -> str:
        """The SQL expression for the reason why a row breaks the rule, or null."""
        value = f"coalesce(CAST(`{self.received or self.column}` AS string), 'null')"
        text = f"concat('{self.column}: received ', {value}, ', allowed {self.allowed}')"
        return f"CASE WHEN {self.broken} THEN {text} END"


def within(column: str, low: float, high: float) -> Rule:
    """Require a number within bounds; NaN and infinite values are outside."""
    broken = f"`{column}` NOT BETWEEN {low} AND {high}"
    return Rule("in_range", column, broken, f"{low:,} to {high:,}")


def between_times(column: str, first: str, end: str) -> Rule:
    """Require a time from `first` up to, but not including, `end` (ISO dates)."""
    broken = f"`{column}` < timestamp_ntz'{first}' OR `{column}` >= timestamp_ntz'{end}'"
    return Rule("in_range", column, broken, f"{first} to before {end}")


def unchanged(column: str, type_: str) -> Rule:
    """Require that the column's type can hold the file's value."""
    received = RECEIVED + column
    broken = f"`{received}` IS NOT NULL AND NOT (`{column}` <=> `{received}`)"
    return Rule("whole_number", column, broken, f"values of type {type_}", received)


@dataclass(frozen=True)
class Sifted:
    """The rows of a partition after the rules were applied."""

    partition: Partition
    rules: tuple[Rule, ...]
    rows: DataFrame
    """All rows, with `IMPOSSIBLE`."""
    counts: Observation
    """The counts `rows` and `broken`, available after `possible` is written."""

    @property
    def possible(self) -> DataFrame:
        """The rows that break no rule."""
        counted = self.rows.observe(
            self.counts, F.count("*").alias("rows"), F.count_if(F.col(IMPOSSIBLE)).alias("broken")
        )
        return counted.where(~F.col(IMPOSSIBLE))

    @property
    def impossible(self) -> DataFrame:
        """The rows that break a rule, with the reasons."""
        reasons = F.concat_ws("; ", *(F.expr(rule.reason) for rule in self.rules))
        return self.rows.where(IMPOSSIBLE).withColumn("reason", reasons)


def sift(spark: SparkSession, query: str, partition: Partition, rules: tuple[Rule, ...]) -> Sifted:
    """Return the rows of the partition's query with `IMPOSSIBLE` set on those that break a rule."""
    broken = "\n  OR ".join(f"coalesce({rule.broken}, false)" for rule in rules)
    rows = spark.sql(f"SELECT *,\n  {broken} AS {IMPOSSIBLE}\nFROM (\n{query}\n)")
    return Sifted(partition, rules, rows, Observation())


def write_quarantine(
    spark: SparkSession,
    settings: Settings,
    schema: TableSchema,
    staging: Table,
    sifted: list[Sifted],
) -> None:
    """Replace the partitions' rows in the quarantine table; call it after staging is written."""
    ensure_table(spark, settings, schema)
    counts = {file.partition.name: _counts(file) for file in sifted}
    stored_rows = rows_by_partition(load_table(settings, schema.table))
    if stored_rows.keys() & counts.keys() or any(count.broken for count in counts.values()):
        by_rule = {file.partition.name: Observation() for file in sifted}
        bad = [_quarantined(spark, schema, file, by_rule[file.partition.name]) for file in sifted]
        rows = reduce(DataFrame.unionByName, bad)
        rows.writeTo(schema.table.spark).overwrite(F.col(PARTITION_COLUMN).isin(list(counts)))
        for file in sifted:
            if counts[file.partition.name].broken:
                _report(spark, settings, file, by_rule[file.partition.name].get, counts)
    written = load_table(settings, staging)
    if written is not None:
        note_quarantined(written, counts)


def _counts(file: Sifted) -> Quarantined:
    counts = file.counts.get
    return Quarantined(counts.get("rows", 0), counts.get("broken", 0))


def _quarantined(
    spark: SparkSession, schema: TableSchema, file: Sifted, by_rule: Observation
) -> DataFrame:
    """Return the impossible rows in the shape of the quarantine table, counted by rule."""
    counts = (F.count_if(F.expr(rule.broken)).alias(f"r{n}") for n, rule in enumerate(file.rules))
    rows = file.impossible.observe(by_rule, *counts)
    run_id = lineage_parent(spark).get("parentRunId")
    rows = rows.withColumn("quarantined_at", F.current_timestamp())
    rows = rows.withColumn("openlineage_run_id", F.lit(run_id).cast("string"))
    return rows.select(*schema.columns)


def _report(
    spark: SparkSession,
    settings: Settings,
    file: Sifted,
    by_rule: Mapping[str, Any],
    counts: dict[str, Quarantined],
) -> None:
    """Report the number of rows that break each rule, to the log and to lineage."""
    count = counts[file.partition.name]
    assertions: list[dict[str, Any]] = []
    for number, rule in enumerate(file.rules):
        if broken := by_rule.get(f"r{number}", 0):
            count.by_column[rule.column] = count.by_column.get(rule.column, 0) + broken
            failed = {"assertion": rule.assertion, "success": False, "severity": "warn"}
            failed |= {"column": rule.column, "expected": rule.allowed, "actual": str(broken)}
            assertions.append(failed)
    print(f"warning: {file.partition.name}: quarantined {count}")  # noqa: T201 - task log
    for path in file.partition.paths:
        report_checks(spark, settings, file_dataset(path), assertions)


def quarantine_results(
    settings: Settings,
    quarantined: dict[str, Quarantined],
    table: Table,
    partitions: list[Partition],
) -> list[Result]:
    """Return the number of quarantined rows per partition as check results.

    Raises:
        ChecksFailed: `stage` did not finish.
    """
    if not {partition.name for partition in partitions} <= quarantined.keys():
        raise ChecksFailed(
            f"{table.name} was written, but `stage` did not finish. Nothing was published. "
            "Run stage again."
        )
    share = settings.max_quarantined_share
    check = Check("quarantined_rows", "", None, share)
    results = []
    for partition in partitions:
        count = quarantined[partition.name]
        detail = f"{count}; allowed are {share:.2%} (MAX_QUARANTINED_SHARE)"
        results.append(Result(check, partition.name, count.broken, count.rows, detail))
    return results
