"""Rows with impossible values: kept out of staging, in a table of their own with the reason.

One pass writes staging and counts the rows that break a rule; only if there are any, a second one
writes those. The counts are noted on staging, so that `check_staging` can refuse a file of which
more than MAX_QUARANTINED_SHARE is impossible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import Quarantined, load_table, note_quarantined, rows_by_slice
from lakehouse.errors import ChecksFailed
from lakehouse.ingest import Slice
from lakehouse.names import Table, file_dataset
from lakehouse.settings import Settings
from spark_jobs.checks import Check, Result
from spark_jobs.conform import RECEIVED
from spark_jobs.lineage import lineage_parent, tell_checks
from spark_jobs.tables import SLICE_COLUMN, TableSchema, ensure_table

IMPOSSIBLE = "is_impossible"

QUARANTINE_COLUMNS = {
    SLICE_COLUMN: "string",
    "reason": "string",
    "quarantined_at": "timestamp",
    "openlineage_run_id": "string",
}
"""What a quarantine table adds to the columns of its source."""


@dataclass(frozen=True)
class Rule:
    """A rule for the values of a row; `broken` is an SQL condition, and null counts as kept."""

    assertion: str
    column: str
    broken: str
    allowed: str
    received: str = ""
    """The column with the value as the file has it, where it is another than `column`."""

    @property
    def reason(self) -> str:
        """SQL of the reason why a row breaks the rule, or null."""
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
    """Require that the column's type can hold the value that the file has."""
    received = RECEIVED + column
    broken = f"`{received}` IS NOT NULL AND NOT (`{column}` <=> `{received}`)"
    return Rule("whole_number", column, broken, f"values of type {type_}", received)


@dataclass(frozen=True)
class Sifted:
    """A slice's rows, with the rules applied."""

    slice_: Slice
    rules: tuple[Rule, ...]
    rows: DataFrame
    """All rows, with `IMPOSSIBLE`."""
    counts: Observation
    """`rows` and `broken`, once `possible` was written."""

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


def sift(rows: DataFrame, slice_: Slice, rules: tuple[Rule, ...]) -> Sifted:
    """Return the slice's rows with `IMPOSSIBLE` set on those that break a rule."""
    conditions = (F.coalesce(F.expr(rule.broken), F.lit(False)) for rule in rules)
    flagged = rows.withColumn(IMPOSSIBLE, reduce(lambda a, b: a | b, conditions, F.lit(False)))
    return Sifted(slice_, rules, flagged, Observation())


def write_quarantine(
    spark: SparkSession,
    settings: Settings,
    schema: TableSchema,
    staging: Table,
    sifted: list[Sifted],
) -> None:
    """Replace the slices' rows in the quarantine table; staging must have been written before."""
    ensure_table(spark, schema)
    found = {file.slice_.name: _counts(file) for file in sifted}
    held = rows_by_slice(load_table(settings, schema.table))
    if held.keys() & found.keys() or any(count.broken for count in found.values()):
        by_rule = {file.slice_.name: Observation() for file in sifted}
        bad = [_quarantined(spark, schema, file, by_rule[file.slice_.name]) for file in sifted]
        rows = reduce(DataFrame.unionByName, bad)
        rows.writeTo(schema.table.spark).overwrite(F.col(SLICE_COLUMN).isin(list(found)))
        for file in sifted:
            if found[file.slice_.name].broken:
                _report(spark, settings, file, by_rule[file.slice_.name].get, found)
    written = load_table(settings, staging)
    if written is not None:
        note_quarantined(written, found)


def _counts(file: Sifted) -> Quarantined:
    counts = file.counts.get
    return Quarantined(counts.get("rows", 0), counts.get("broken", 0))


def _quarantined(
    spark: SparkSession, schema: TableSchema, file: Sifted, by_rule: Observation
) -> DataFrame:
    """Return the impossible rows as the quarantine table has them, counted by rule."""
    counts = (F.count_if(F.expr(rule.broken)).alias(f"r{n}") for n, rule in enumerate(file.rules))
    rows = file.impossible.observe(by_rule, *counts)
    run_id = lineage_parent(spark).get("parentRunId")
    rows = rows.withColumn(SLICE_COLUMN, F.lit(file.slice_.name))
    rows = rows.withColumn("quarantined_at", F.current_timestamp())
    rows = rows.withColumn("openlineage_run_id", F.lit(run_id).cast("string"))
    return rows.select(*schema.columns)


def _report(
    spark: SparkSession,
    settings: Settings,
    file: Sifted,
    by_rule: Mapping[str, Any],
    found: dict[str, Quarantined],
) -> None:
    """Report to the log and to lineage how many rows of a file break which rule."""
    count = found[file.slice_.name]
    assertions: list[dict[str, Any]] = []
    for number, rule in enumerate(file.rules):
        if broken := by_rule.get(f"r{number}", 0):
            count.by_column[rule.column] = count.by_column.get(rule.column, 0) + broken
            failed = {"assertion": rule.assertion, "success": False, "severity": "warn"}
            failed |= {"column": rule.column, "expected": rule.allowed, "actual": str(broken)}
            assertions.append(failed)
    print(f"warning: {file.slice_.name}: quarantined {count}")  # noqa: T201 - task log
    for path in file.slice_.paths:
        tell_checks(spark, settings, file_dataset(path), assertions)


def quarantine_results(
    settings: Settings, quarantined: dict[str, Quarantined], table: Table, slices: list[Slice]
) -> list[Result]:
    """Return how many rows of each slice were quarantined, as results of a check.

    Raises:
        ChecksFailed: `stage` did not finish.
    """
    if not {slice_.name for slice_ in slices} <= quarantined.keys():
        raise ChecksFailed(
            f"{table.name} was written, but not everything after it. Nothing was published; "
            "run stage again."
        )
    share = settings.max_quarantined_share
    check = Check("quarantined_rows", "", None, share)
    results = []
    for slice_ in slices:
        count = quarantined[slice_.name]
        detail = f"{count}; allowed are {share:.2%} (MAX_QUARANTINED_SHARE)"
        results.append(Result(check, slice_.name, count.broken, count.rows, detail))
    return results
