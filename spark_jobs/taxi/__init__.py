"""NYC TLC trip records: the services differ in what is declared here and in nothing else."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from lakehouse.ingest import Slice
from lakehouse.sources import GREEN, YELLOW, Source
from spark_jobs.checks import in_range, not_null, ordered
from spark_jobs.ingest import Spec

PICKUP = {"yellow": "tpep_pickup_datetime", "green": "lpep_pickup_datetime"}
DROPOFF = {"yellow": "tpep_dropoff_datetime", "green": "lpep_dropoff_datetime"}
OWN_COLUMNS = {
    "yellow": {"airport_fee": "double"},
    "green": {"ehail_fee": "double", "trip_type": "bigint"},
}


def columns(service: str) -> dict[str, str]:
    """TLC's columns of 2025 in lower case, as Glue and Athena will have them anyway.

    Times are New York's wall clock without a zone, as TLC publishes them. A column that a later
    year adds goes to the end, so that `unique_row_id` stays.
    """
    return {
        "vendorid": "int",
        PICKUP[service]: "timestamp_ntz",
        DROPOFF[service]: "timestamp_ntz",
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
        **OWN_COLUMNS[service],
        "cbd_congestion_fee": "double",
    }


def read_trips(spark: SparkSession, slice_: Slice) -> DataFrame:
    """A month's parquet file as it is."""
    return spark.read.parquet(*slice_.paths)


def spec(source: Source) -> Spec:
    """What a service's jobs need to know."""
    pickup, dropoff = PICKUP[source.name], DROPOFF[source.name]
    every = columns(source.name)
    return Spec(
        source.table,
        every,
        frozenset({pickup, dropoff, "pulocationid"}),
        read_trips,
        (
            not_null(pickup),
            not_null("pulocationid"),
            in_range("pulocationid", 1, 265, tolerated=0.01),
            in_range("trip_distance", 0, 1000, tolerated=0.05),
            in_range("total_amount", -1000, 10_000, tolerated=0.01),
            ordered(pickup, dropoff, tolerated=0.05),
        ),
    )


SPECS = {source.name: spec(source) for source in (YELLOW, GREEN)}
