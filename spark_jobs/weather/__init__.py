"""Definition of NOAA's nClimGrid-Daily county averages."""

from __future__ import annotations

import io
import re
from datetime import date
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from pyiceberg.io import load_file_io
from pyspark.sql import SparkSession

from lakehouse.catalog import properties
from lakehouse.errors import BadSourceFile
from lakehouse.ingest import Partition
from lakehouse.settings import Settings
from lakehouse.sources import WEATHER, WEATHER_ELEMENTS, months_before
from lakehouse.weather_file import (
    CITY_COUNTIES,
    MAX_MISSING_SHARE,
    WeatherFile,
    check_weather_file,
)
from lakehouse.weather_values import (
    TEMPERATURES,
    month_of,
    problems_of,
    rules_of,
)
from spark_jobs.checks import Check, Result, in_range, not_null, ordered, unique
from spark_jobs.ingest import Spec
from spark_jobs.ingest.spec import RowsOf

WEATHER_COLUMNS = {
    "county_code": "string",
    "county_name": "string",
    "date": "date",
    **dict.fromkeys(WEATHER_ELEMENTS, "double"),
}

MAX_FILE_BYTES = 16 << 20


def few_missing(element: str) -> Check:
    """Require that few rows lack the element, or all rows, if it is not published yet."""
    missing = f"if(count({element}) = 0, 0, count_if({element} IS NULL))"
    return Check("few_missing", missing, element, MAX_MISSING_SHARE)


CITY_CODES = ", ".join(f"'{code}'" for code in CITY_COUNTIES)

WEATHER_CHECKS = (
    not_null("county_code"),
    Check("in_month", "count_if(date_format(date, 'yyyyMM') <> left(filename, 6))", "date"),
    Check(
        "expected_counties",
        f"{len(CITY_COUNTIES)} - count(DISTINCT CASE WHEN county_code IN ({CITY_CODES}) "
        "THEN county_code END)",
        "county_code",
    ),
    Check(
        "row_per_county_and_day",
        "abs(count(DISTINCT county_code) * count(DISTINCT date) - count(*))",
        tolerated=MAX_MISSING_SHARE,
    ),
    *map(few_missing, WEATHER_ELEMENTS),
    in_range("prcp", 0, 800),  # highest in the 48 states: 1,092 at a place, 520 in a county
    *(in_range(element, -60, 55) for element in TEMPERATURES),
    ordered("tmin", "tmax", tolerated=0.01),
    Check("mean_of_extremes", "count_if(abs(tavg - (tmin + tmax) / 2) > 1.5)", "tavg", 0.01),
    unique(("county_code", "date")),
)

NO_VALUE = -999.99
DAYS = range(1, 32)
FILE_SCHEMA = (
    "region_type string, county_code string, county_name string, year int, month int, "
    "element string, " + ", ".join(f"day_{day} double" for day in DAYS)
)


def check_files(settings: Settings, partition: Partition) -> None:
    """Check a month's landed files individually and against each other.

    Raises:
        BadSourceFile: a file is not NOAA's, or the files differ in month or counties or contain
            the same element.
    """
    files = [(path, _checked(settings, path)) for path in partition.paths]
    for path, file in files:
        if partition.name != WEATHER.partition_of(file.month):
            raise BadSourceFile(
                f"{path} is of {file.month}, but the partition is {partition.name}. Delete the "
                "landed files, then run the task again."
            )
    for (path, file), (other_path, other) in pairwise(files):
        if file.element == other.element:
            raise BadSourceFile(
                f"{path} and {other_path} both contain {file.element}; remove one of them."
            )
        if difference := sorted(file.counties ^ other.counties):
            raise BadSourceFile(
                f"{path} has {len(file.counties):,} counties and {other_path} "
                f"{len(other.counties):,}; only one of them has {', '.join(difference[:5])}. All "
                "files of a month have the same. Get NOAA's own files, then run the task again."
            )


def _checked(settings: Settings, path: str) -> WeatherFile:
    try:
        with load_file_io(properties(settings), path).new_input(path).open() as landed:
            content = landed.read(MAX_FILE_BYTES)
    except OSError as error:
        raise BadSourceFile(f"Cannot read {path}: {error}. Run download again.") from error
    return check_weather_file(path, io.BytesIO(content))


def read_weather(spark: SparkSession, partition: Partition) -> str:
    """Return a query of a month's files, one row per county and day; a missing element is null.

    The query's form helps Spark's listener to report correct lineage. Each file has its own view,
    because for several CSV files the listener reports only their folder. Days are numbered
    independently of their values, because for a `stack` it reports that all columns, including the
    date, depend on every value.
    """
    files = []
    for path in partition.paths:
        element = PurePosixPath(path).name.split("-")[0]
        options: Any = {"ignoreLeadingWhiteSpace": True, "mode": "FAILFAST"}
        spark.read.csv(path, schema=FILE_SCHEMA, **options).createOrReplaceTempView(element)
        files.append(_by_day(element))
    elements = ", ".join(f"max({element}) AS {element}" for element in WEATHER_ELEMENTS)
    days = "    UNION ALL\n".join(files)
    return (
        "(\n  SELECT county_code AS county_code, county_name AS county_name, date AS date,\n"
        f"    {elements}\n  FROM (\n{days}  )\n  GROUP BY 1, 2, 3\n)"
    )


def _by_day(element: str) -> str:
    """Return a query of an element's file with one row per county and day that has a value."""
    values = " ".join(f"WHEN {day} THEN day_{day}" for day in DAYS)
    columns = ", ".join(
        f"{'value' if other == element else 'CAST(NULL AS double)'} AS {other}"
        for other in WEATHER_ELEMENTS
    )
    return (
        f"    SELECT county_code, county_name, date, {columns}\n    FROM (\n"
        "      SELECT *, date_add(make_date(year, month, 1), day - 1) AS date,\n"
        f"        CASE day {values} END AS value\n"
        f"      FROM {element} LATERAL VIEW explode(sequence(1, {len(DAYS)})) AS day\n"
        f"    ) WHERE value <> {NO_VALUE}\n"
    )


def compare_months(settings: Settings, name: str, rows_of: RowsOf) -> list[Result]:
    """Return the results of the rules for a month, also compared with the month before.

    A broken rule is only a warning if ACCEPT_WEATHER_MONTHS contains the month.
    """
    rows = rows_of(name)
    if not rows:
        return []
    earlier = WEATHER.partition_of(months_before(date(int(name[:4]), int(name[4:6]), 1), 2)[0])
    month = month_of(name, rows, WEATHER_ELEMENTS)
    rows_before = rows_of(earlier)
    before = month_of(earlier, rows_before, WEATHER_ELEMENTS) if rows_before else None
    texts: dict[tuple[str, str], list[str]] = {rule: [] for rule in rules_of(month, before)}
    for problem in problems_of(month, before):
        texts[problem.rule, problem.column].append(problem.text)
    year_month = f"{name[:4]}-{name[4:6]}"
    is_accepted = year_month in re.split(r",\s*", settings.accept_weather_months)
    remedy = "accepted by" if is_accepted else "if the values are right, set"
    remedy += f" ACCEPT_WEATHER_MONTHS={year_month}"
    return [
        Result(
            Check(rule, "", column, tolerated=1.0 if is_accepted else 0.0),
            name,
            len(found),
            len(rows),
            f"{'; '.join(found[:5])} ({remedy})" if found else "",
        )
        for (rule, column), found in texts.items()
    ]


SPEC = Spec(
    WEATHER.table,
    WEATHER_COLUMNS,
    frozenset({"county_code", "date"}),
    read_weather,
    WEATHER_CHECKS,
    check_files,
    compare_months,
)
