"""NOAA nClimGrid-Daily county averages."""

from __future__ import annotations

import io
from functools import reduce
from itertools import pairwise

from pyiceberg.io import load_file_io
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import properties
from lakehouse.errors import BadSourceFile
from lakehouse.ingest import Slice
from lakehouse.settings import Settings
from lakehouse.sources import WEATHER, WEATHER_ELEMENTS
from lakehouse.weather_file import (
    CITY_COUNTIES,
    MAX_MISSING_SHARE,
    WeatherFile,
    check_weather_file,
)
from spark_jobs.checks import Check, in_range, not_null, ordered, unique
from spark_jobs.ingest import Spec

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
    in_range("prcp", 0, 1000, tolerated=0.01),
    in_range("tavg", -60, 60, tolerated=0.01),
    ordered("tmin", "tmax", tolerated=0.01),
    unique(("county_code", "date")),
)

NO_SUCH_DAY = -999.99
DAYS = range(1, 32)
FILE_SCHEMA = (
    "region_type string, county_code string, county_name string, year int, month int, "
    "element string, " + ", ".join(f"day_{day} double" for day in DAYS)
)


def check_files(settings: Settings, slice_: Slice) -> None:
    """Check a month's landed files, each and against each other.

    Raises:
        BadSourceFile: a file is not NOAA's, or the files differ in month or counties, or repeat an
            element.
    """
    files = [(path, _checked(settings, path)) for path in slice_.paths]
    for path, file in files:
        if slice_.name != WEATHER.slice_of(file.month):
            raise BadSourceFile(
                f"{path} is of {file.month}, and the load is {slice_.name}. Delete the "
                "landed files, then run the task again."
            )
    for (path, file), (other_path, other) in pairwise(files):
        if file.element == other.element:
            raise BadSourceFile(
                f"{path} and {other_path} both hold {file.element}; one is allowed."
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
        raise BadSourceFile(f"{path} cannot be read: {error}. Run download again.") from error
    return check_weather_file(path, io.BytesIO(content))


def read_weather(spark: SparkSession, slice_: Slice) -> DataFrame:
    """A month's files, one an element and one row a county, as one row a county and day.

    An element that was not published is null.
    """
    files = reduce(DataFrame.union, [_read_file(spark, path) for path in slice_.paths])
    day = ", ".join(f"{day}, day_{day}" for day in DAYS)
    values = files.selectExpr(
        "county_code",
        "county_name",
        "make_date(year, month, 1) AS first",
        "lower(element) AS element",
        f"stack({len(DAYS)}, {day}) AS (day, value)",
    ).where(F.col("value") != NO_SUCH_DAY)
    return (
        values.withColumn("date", F.expr("date_add(first, day - 1)"))
        .groupBy("county_code", "county_name", "date")
        .agg(
            *(
                F.max(F.when(F.col("element") == element, F.col("value"))).alias(element)
                for element in WEATHER_ELEMENTS
            )
        )
        .select(*WEATHER_COLUMNS)
    )


def _read_file(spark: SparkSession, path: str) -> DataFrame:
    """One file; read one by one, because lineage names only the folder of several CSV files."""
    return spark.read.csv(path, schema=FILE_SCHEMA, ignoreLeadingWhiteSpace=True, mode="FAILFAST")


SPEC = Spec(
    WEATHER.table,
    WEATHER_COLUMNS,
    frozenset({"county_code", "date"}),
    read_weather,
    WEATHER_CHECKS,
    check_files,
)
