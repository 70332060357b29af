"""Checks of what is about to be published, in one pass, reported as lineage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.errors import ChecksFailed
from lakehouse.names import Table
from lakehouse.settings import Settings
from spark_jobs.lineage import tell_checks


@dataclass(frozen=True)
class Check:
    """A rule for rows: `violated` is SQL that is true for a row that breaks it.

    More than `tolerated` (a share of the rows, 0 to 1) is critical; up to it is a warning.
    """

    assertion: str
    violated: str
    column: str | None = None
    tolerated: float = 0.0


@dataclass(frozen=True)
class Result:
    """A check and how many of how many rows broke it."""

    check: Check
    broken: int
    rows: int

    @property
    def critical(self) -> bool:
        """Whether nothing may be published."""
        return self.rows == 0 or self.broken > self.check.tolerated * self.rows

    def __str__(self) -> str:
        share = f"{self.broken:,} of {self.rows:,} rows"
        column = f" {self.check.column}" if self.check.column else ""
        return f"{self.check.assertion}{column}: {share} break `{self.check.violated}`"


def run_checks(rows: DataFrame, checks: tuple[Check, ...]) -> list[Result]:
    """Every check's result, from one pass over the rows."""
    counts = [F.count_if(F.expr(check.violated)).alias(f"c{n}") for n, check in enumerate(checks)]
    found = rows.agg(F.count("*").alias("rows"), *counts).first()
    assert found is not None  # an aggregate without groups always has its one row
    return [Result(check, found[f"c{n}"], found["rows"]) for n, check in enumerate(checks)]


def report(spark: SparkSession, settings: Settings, table: Table, results: list[Result]) -> None:
    """Tell lineage, and refuse to go on if a result is critical.

    Raises:
        ChecksFailed: names each critical check, its count and its condition.
    """
    tell_checks(spark, settings, table, [_assertion(result) for result in results])
    for result in results:
        if result.broken:
            print(f"{'CRITICAL' if result.critical else 'warning'}: {result}")  # noqa: T201 - task log
    critical = [str(result) for result in results if result.critical]
    if any(result.rows == 0 for result in results):
        critical = ["there are no rows"]
    if critical:
        raise ChecksFailed(
            f"{table.name}: {'; '.join(critical)}. Nothing was published; correct the source "
            "file or the check, then run the task again."
        )


def _assertion(result: Result) -> dict[str, Any]:
    """A result in the words of OpenLineage's `dataQualityAssertions`."""
    return {
        "assertion": result.check.assertion,
        "success": result.broken == 0,
        "column": result.check.column,
        "severity": "error" if result.critical else "warn",
        "expected": f"at most {result.check.tolerated:.0%} of rows with {result.check.violated}",
        "actual": str(result.broken),
    }
