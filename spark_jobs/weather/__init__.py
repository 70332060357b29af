"""NOAA nClimGrid-Daily county averages."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.ingest import Slice
from lakehouse.sources import WEATHER, WEATHER_ELEMENTS
from spark_jobs.checks import Check
from spark_jobs.ingest import Spec

WEATHER_COLUMNS = {
    "county_code": "string",
    "county_name": "string",
    "date": "date",
    **dict.fromkeys(WEATHER_ELEMENTS, "double"),
}

WEATHER_CHECKS = (
    Check("not_null", "county_code IS NULL", "county_code"),
    Check("in_range", "prcp NOT BETWEEN 0 AND 1000", "prcp", tolerated=0.01),
    Check("in_range", "tavg NOT BETWEEN -60 AND 60", "tavg", tolerated=0.01),
    Check("ordered", "tmin > tmax", "tmin", tolerated=0.01),
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


SPEC = Spec(WEATHER.table, WEATHER_COLUMNS, read_weather, WEATHER_CHECKS)
