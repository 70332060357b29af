"""Check rows before they are published, in one pass, and report the results to lineage."""

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
from spark_jobs.lineage import report_checks

SHARE_OF_LAST_LOAD = 0.5
"""A file is rejected if it has fewer rows than this share of its last load."""

MOSTLY_REPEATED = 0.5
"""A file is rejected if a larger share of its rows are duplicates; fewer duplicates are merged."""


@dataclass(frozen=True)
class Check:
    """A rule; `broken` is an SQL aggregate that counts the rows of a file that break it.

    More than the share `tolerated` (0 to 1) of broken rows is critical; fewer are a warning.
    """

    assertion: str
    broken: str
    column: str | None = None
    tolerated: float = 0.0


def not_null(column: str) -> Check:
    """Require that the column has a value in every row."""
    return Check("not_null", f"count_if({column} IS NULL)", column)


def in_range(column: str, low: float, high: float, tolerated: float = 0.0) -> Check:
    """Require that the column is null or within bounds."""
    broken = f"count_if({column} NOT BETWEEN {low} AND {high})"
    return Check("in_range", broken, column, tolerated)


def ordered(first: str, second: str, tolerated: float = 0.0) -> Check:
    """Require that `first` is at most `second`."""
    return Check("ordered", f"count_if({first} > {second})", second, tolerated)


def unique(columns: Iterable[str], tolerated: float = 0.0) -> Check:
    """Require that no two rows have the same values in the columns."""
    broken = f"count(*) - count(DISTINCT xxhash64({', '.join(columns)}))"
    return Check("unique", broken, None, tolerated)


@dataclass(frozen=True)
class Result:
    """The result of a check for one file: the number of rows that break it."""

    check: Check
    file: str
    broken: int
    rows: int
    detail: str = ""

    @property
    def critical(self) -> bool:
        """True if nothing may be published."""
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
    previous_rows: Mapping[str, int],
) -> list[Result]:
    """Return the result of each check for each file, from one pass over the rows.

    `contents` are the contents per file. `previous_rows` lists the expected files with their number
    of rows in the last load (0 if never loaded). A file without rows, with far fewer rows than
    before, or with mostly duplicates is critical too.
    """
    counts = [F.expr(check.broken).alias(f"c{n}") for n, check in enumerate(checks)]
    counts_by_file = {row[by]: row for row in rows.groupBy(by).agg(*counts).collect()}
    results = []
    for file, before in previous_rows.items():
        content = contents.get(file, Contents())
        n, repeated = content.rows, content.rows - content.distinct
        few = int(n == 0 or n < before * SHARE_OF_LAST_LOAD)
        detail = f"{n:,} rows; {before:,} in the last load"
        results.append(Result(Check("row_count", ""), file, few, n, detail))
        results.append(Result(Check("distinct_rows", "", None, MOSTLY_REPEATED), file, repeated, n))
        if file in counts_by_file:
            results += [
                Result(c, file, counts_by_file[file][f"c{i}"], n) for i, c in enumerate(checks)
            ]
    return results


def report(spark: SparkSession, settings: Settings, table: Table, results: list[Result]) -> None:
    """Report the results to lineage, and raise if one is critical.

    Raises:
        ChecksFailed: a check is critical; the message has each with its count and condition.
    """
    report_checks(spark, settings, table.dataset(settings), _assertions(results))
    for result in results:
        if result.broken:
            print(f"{'CRITICAL' if result.critical else 'warning'}: {result}")  # noqa: T201 - task log
    critical = [str(result) for result in results if result.critical]
    if critical:
        raise ChecksFailed(
            f"{table.name}: {'; '.join(critical)}. Nothing was published. Correct the source "
            "file or the check, then run the task again."
        )


def _assertions(results: list[Result]) -> list[dict[str, Any]]:
    """Return the results as OpenLineage `dataQualityAssertions`, one per check for all files."""

    def key(result: Result) -> tuple[str, str]:
        return result.check.assertion, result.check.column or ""

    assertions = []
    for (assertion, column), group in groupby(sorted(results, key=key), key):
        of_check = list(group)
        assertions.append(
            {
                "assertion": assertion,
                "success": not any(result.broken for result in of_check),
                "column": column or None,
                "severity": "error" if any(result.critical for result in of_check) else "warn",
                "expected": f"at most {of_check[0].check.tolerated:.0%} of a file's rows break it",
                "actual": str(sum(result.broken for result in of_check)),
            }
        )
    return assertions
