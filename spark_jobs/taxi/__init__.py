"""Definitions of the NYC TLC trip records, per taxi service."""

from __future__ import annotations

import re
from datetime import date

from pyspark.sql import SparkSession

from lakehouse.errors import BadSourceFile
from lakehouse.ingest import Partition
from lakehouse.sources import GREEN, YELLOW, Source
from spark_jobs.checks import not_null, ordered
from spark_jobs.ingest import Spec
from spark_jobs.quarantine import Rule, between_times, within

PICKUP = {"yellow": "tpep_pickup_datetime", "green": "lpep_pickup_datetime"}
DROPOFF = {"yellow": "tpep_dropoff_datetime", "green": "lpep_dropoff_datetime"}
OWN_COLUMNS = {
    "yellow": {"airport_fee": "double"},
    "green": {"ehail_fee": "double", "trip_type": "bigint"},
}


def columns(service: str) -> dict[str, str]:
    """Return TLC's columns of 2025 in lower case, as Glue and Athena store them.

    Times are New York wall-clock times without a zone, as TLC publishes them. Append new columns
    at the end, so that `unique_row_id` does not change.
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


def read_trips(spark: SparkSession, partition: Partition) -> str:
    """Return the SQL relation of a month's Parquet file."""
    (path,) = partition.paths
    quoted = path.replace("`", "``")
    return f"parquet.`{quoted}`"


RANGES = {
    "passenger_count": (0, 99),
    "trip_distance": (0, 1_000),
    "pulocationid": (1, 265),
    "dolocationid": (1, 265),
}
AMOUNTS = (-1_000, 10_000)
"""Dollars; refunds are negative."""


def rules(service: str, partition: Partition) -> tuple[Rule, ...]:
    """Return the rules for the values of a month's trips.

    Times may be from a year before the month (late reports) to a month after it.

    Raises:
        BadSourceFile: the file name is not in TLC's format.
    """
    match = re.fullmatch(r"[a-z]+_tripdata_(\d{4})-(0[1-9]|1[0-2])\.parquet", partition.name)
    if match is None:
        raise BadSourceFile(
            f"{partition.name} does not have the name of a TLC file; expected "
            f"{service}_tripdata_YYYY-MM.parquet. Rename it, then run the task again."
        )
    year, month = int(match[1]), int(match[2])
    first = date(year - 1, month, 1).isoformat()
    end = date(year + (month + 1) // 12, (month + 1) % 12 + 1, 1).isoformat()
    amounts = [name for name, type_ in columns(service).items() if type_ == "double"]
    ranges = RANGES | {name: AMOUNTS for name in amounts if name not in RANGES}
    return (
        between_times(PICKUP[service], first, end),
        between_times(DROPOFF[service], first, end),
        *(within(name, low, high) for name, (low, high) in ranges.items()),
    )


def spec(source: Source) -> Spec:
    """Return the source definition of a taxi service."""
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
            ordered(pickup, dropoff, tolerated=0.05),
        ),
        rules=lambda partition: rules(source.name, partition),
    )


SPECS = {source.name: spec(source) for source in (YELLOW, GREEN)}
