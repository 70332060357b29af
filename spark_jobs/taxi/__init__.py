"""NYC TLC trip records."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.ingest import Slice
from lakehouse.sources import YELLOW
from spark_jobs.checks import Check
from spark_jobs.ingest import Spec

# TLC's columns of 2025 in lower case, as Glue and Athena will have them anyway. Times are New
# York's wall clock without a zone, as TLC publishes them.
YELLOW_COLUMNS = {
    "vendorid": "int",
    "tpep_pickup_datetime": "timestamp_ntz",
    "tpep_dropoff_datetime": "timestamp_ntz",
    "passenger_count": "bigint",
    "trip_distance": "double",
    "ratecodeid": "bigint",
    "store_and_fwd_flag": "string",
    "pulocationid": "int",
    "dolocationid": "int",
    "payment_type": "bigint",
    "fare_amount": "double",
    "extra": "double",
    "mta_tax": "double",
    "tip_amount": "double",
    "tolls_amount": "double",
    "improvement_surcharge": "double",
    "total_amount": "double",
    "congestion_surcharge": "double",
    "airport_fee": "double",
    "cbd_congestion_fee": "double",
}

YELLOW_CHECKS = (
    Check("not_null", "tpep_pickup_datetime IS NULL", "tpep_pickup_datetime"),
    Check("not_null", "pulocationid IS NULL", "pulocationid"),
    Check("in_range", "pulocationid NOT BETWEEN 1 AND 265", "pulocationid", tolerated=0.01),
    Check("in_range", "trip_distance NOT BETWEEN 0 AND 1000", "trip_distance", tolerated=0.05),
    Check(
        "ordered",
        "tpep_dropoff_datetime < tpep_pickup_datetime",
        "tpep_dropoff_datetime",
        tolerated=0.05,
    ),
)


def read_trips(spark: SparkSession, slice_: Slice) -> DataFrame:
    """A month's parquet file in the typed schema; a column that the year lacks is null."""
    trips = spark.read.parquet(*slice_.paths)
    found = {name.lower(): name for name in trips.columns}
    return trips.select(
        *(
            (F.col(found[name]) if name in found else F.lit(None)).cast(type_).alias(name)
            for name, type_ in YELLOW_COLUMNS.items()
        )
    )


SPEC = Spec(YELLOW.table, YELLOW_COLUMNS, read_trips, YELLOW_CHECKS)
