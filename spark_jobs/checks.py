"""Checks of what would be published: a table per source, one pass, reported as lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import Contents
from lakehouse.errors import ChecksFailed
from lakehouse.names import Table
from lakehouse.settings import Settings
from spark_jobs.lineage import tell_checks

SHARE_OF_LAST_LOAD = 0.5
"""A file that comes again with fewer rows than this share of what it held is not believed."""

MOSTLY_REPEATED = 0.5
"""A file of which more rows than this share repeat others is not believed; fewer collapse."""


@dataclass(frozen=True)
class Check:
    """A rule: `broken` is SQL that aggregates a file's rows to the number that break it.

    More than `tolerated` (a share of the rows, 0 to 1) is critical; up to it is a warning.
    """

    assertion: str
    broken: str
    column: str | None = None
    tolerated: float = 0.0


def not_null(column: str) -> Check:
    """No row is without the column."""
    return Check("not_null", f"count_if({column} IS NULL)", column)


def in_range(column: str, low: float, high: float, tolerated: float = 0.0) -> Check:
    """The column is within bounds, or null."""
    broken = f"count_if({column} NOT BETWEEN {low} AND {high})"
    return Check("in_range", broken, column, tolerated)


def ordered(first: str, second: str, tolerated: float = 0.0) -> Check:
    """The one column is never above the other."""
    return Check("ordered", f"count_if({first} > {second})", second, tolerated)


def unique(columns: Iterable[str], tolerated: float = 0.0) -> Check:
    """No row repeats another in the columns."""
    broken = f"count(*) - count(DISTINCT xxhash64({', '.join(columns)}))"
    return Check("unique", broken, None, tolerated)


@dataclass(frozen=True)
class Result:
    """A check of one file, and how many of its rows broke it."""

    check: Check
    file: str
    broken: int
    rows: int
    detail: str = ""

    @property
    def critical(self) -> bool:
        """Whether nothing may be published."""
        return self.broken > self.check.tolerated * self.rows

    def __str__(self) -> str:
        detail = self.detail or f"{self.broken:,} of {self.rows:,} rows break it"
        column = f" {self.check.column}" if self.check.column else ""
        return f"{self.file}: {self.check.assertion}{column}: {detail}"


def run_checks(
    rows: DataFrame,
    by: str,
    checks: tuple[Check, ...],
    contents: Mapping[str, Contents],
    held: Mapping[str, int],
) -> list[Result]:
    """Every check's result for every file, from one pass over the rows.

    `contents` is what the files hold, `held` the files that must be there with the rows that each
    had when it was last loaded (0 for never): one without rows, with suddenly few, or mostly with
    repeated ones is critical too.
    """
    counts = [F.expr(check.broken).alias(f"c{n}") for n, check in enumerate(checks)]
    found = {row[by]: row for row in rows.groupBy(by).agg(*counts).collect()}
    results = []
    for file, before in held.items():
        content = contents.get(file, Contents())
        n, repeated = content.rows, content.rows - content.distinct
        few = int(n == 0 or n < before * SHARE_OF_LAST_LOAD)
        detail = f"{n:,} rows, after {before:,} in the last load"
        results.append(Result(Check("row_count", ""), file, few, n, detail))
        results.append(Result(Check("distinct_rows", "", None, MOSTLY_REPEATED), file, repeated, n))
        if file in found:
            results += [Result(c, file, found[file][f"c{i}"], n) for i, c in enumerate(checks)]
    return results


def report(spark: SparkSession, settings: Settings, table: Table, results: list[Result]) -> None:
    """Tell lineage, and refuse to go on if a result is critical.

    Raises:
        ChecksFailed: names each critical check, its count and its condition.
    """
    tell_checks(spark, settings, table.dataset(settings), _assertions(results))
    for result in results:
        if result.broken:
            print(f"{'CRITICAL' if result.critical else 'warning'}: {result}")  # noqa: T201 - task log
    critical = [str(result) for result in results if result.critical]
    if critical:
        raise ChecksFailed(
            f"{table.name}: {'; '.join(critical)}. Nothing was published; correct the source "
            "file or the check, then run the task again."
        )


def _assertions(results: list[Result]) -> list[dict[str, Any]]:
    """Results as OpenLineage's `dataQualityAssertions`, all files of a check in one."""

    def key(result: Result) -> tuple[str, str]:
        return result.check.assertion, result.check.column or ""

    found = []
    for (assertion, column), group in groupby(sorted(results, key=key), key):
        of_check = list(group)
        found.append(
            {
                "assertion": assertion,
                "success": not any(result.broken for result in of_check),
                "column": column or None,
                "severity": "error" if any(result.critical for result in of_check) else "warn",
                "expected": f"at most {of_check[0].check.tolerated:.0%} of a file's rows break it",
                "actual": str(sum(result.broken for result in of_check)),
            }
        )
    return found
