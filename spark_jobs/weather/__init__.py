"""NOAA nClimGrid-Daily county averages."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.ingest import Slice
from lakehouse.sources import WEATHER, WEATHER_ELEMENTS
from spark_jobs.checks import in_range, not_null, ordered, unique
from spark_jobs.ingest import Spec

WEATHER_COLUMNS = {
    "county_code": "string",
    "county_name": "string",
    "date": "date",
    **dict.fromkeys(WEATHER_ELEMENTS, "double"),
}

WEATHER_CHECKS = (
    not_null("county_code"),
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
)
