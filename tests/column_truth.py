"""Truth tables of the pipeline's column lineage, written by hand from the jobs' code.

`target <- source ...` lists columns whose values go into the target, `target <~ source ...` columns
that only influence it (filters, joins, groupings, sorts, conditions). The target `*` is every
column of the table. A column without a line has no source: it is a constant, a time or an id of the
run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

DIRECT, INDIRECT = "DIRECT", "INDIRECT"
INDIRECT_SUBTYPES = {"JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"}

RULED = """
tpep_pickup_datetime tpep_dropoff_datetime passenger_count trip_distance PULocationID DOLocationID
fare_amount extra mta_tax tip_amount tolls_amount improvement_surcharge total_amount
congestion_surcharge Airport_fee cbd_congestion_fee
"""
"""Columns of a file with a rule for possible values."""


def _each(dataset: str, columns: str) -> str:
    return " ".join(f"{dataset}.{column}" for column in columns.split())


_TYPED = """
vendorid <- trips.VendorID
tpep_pickup_datetime <- trips.tpep_pickup_datetime
tpep_dropoff_datetime <- trips.tpep_dropoff_datetime
passenger_count <- trips.passenger_count
trip_distance <- trips.trip_distance
ratecodeid <- trips.RatecodeID
store_and_fwd_flag <- trips.store_and_fwd_flag
pulocationid <- trips.PULocationID
dolocationid <- trips.DOLocationID
payment_type <- trips.payment_type
fare_amount <- trips.fare_amount
extra <- trips.extra
mta_tax <- trips.mta_tax
tip_amount <- trips.tip_amount
tolls_amount <- trips.tolls_amount
improvement_surcharge <- trips.improvement_surcharge
total_amount <- trips.total_amount
congestion_surcharge <- trips.congestion_surcharge
airport_fee <- trips.Airport_fee
cbd_congestion_fee <- trips.cbd_congestion_fee
"""

TRIPS = """
vendorid tpep_pickup_datetime tpep_dropoff_datetime passenger_count trip_distance ratecodeid
store_and_fwd_flag pulocationid dolocationid payment_type fare_amount extra mta_tax tip_amount
tolls_amount improvement_surcharge total_amount congestion_surcharge airport_fee cbd_congestion_fee
"""

DAYS = " ".join(f"day_{day}" for day in range(1, 32))
ELEMENTS = ("prcp", "tavg", "tmin", "tmax")


def _copied(dataset: str, columns: str) -> str:
    return "\n".join(f"{column} <- {dataset}.{column}" for column in columns.split())


def _hashed(dataset: str, columns: str) -> str:
    """Return a hash of all columns and of the set of null columns."""
    sources = _each(dataset, columns)
    return f"unique_row_id <- {sources}\nunique_row_id <~ {sources}"


def _of_files(target: str, column: str) -> str:
    return f"{target} <- " + " ".join(f"{element}.{column}" for element in ELEMENTS)


TRUTH = {
    "yellow_taxi_staging": f"""
{_TYPED}
* <~ {_each("trips", RULED)}
""",
    "yellow_taxi_quarantine": f"""
{_TYPED}
reason <- {_each("trips", RULED)}
* <~ {_each("trips", RULED)}
""",
    "yellow_taxi_raw": f"""
{_copied("yellow_taxi_staging", TRIPS)}
{_hashed("yellow_taxi_staging", TRIPS)}
filename <- yellow_taxi_staging.filename
* <~ yellow_taxi_staging.filename
""",
    "yellow_rides_hourly_actuals": """
datetime_hour <- yellow_taxi_raw.tpep_pickup_datetime
pulocationid <- yellow_taxi_raw.pulocationid
total_rides <- yellow_taxi_raw.tpep_pickup_datetime
* <~ yellow_taxi_raw.tpep_pickup_datetime yellow_taxi_raw.pulocationid
""",
    "weather_staging": f"""
{_of_files("county_code", "county_code")}
{_of_files("county_name", "county_name")}
{_of_files("date", "year")}
{_of_files("date", "month")}
prcp <- {_each("prcp", DAYS)}
tavg <- {_each("tavg", DAYS)}
tmin <- {_each("tmin", DAYS)}
tmax <- {_each("tmax", DAYS)}
* <~ {_each("prcp", f"county_code county_name year month {DAYS}")}
* <~ {_each("tavg", f"county_code county_name year month {DAYS}")}
* <~ {_each("tmin", f"county_code county_name year month {DAYS}")}
* <~ {_each("tmax", f"county_code county_name year month {DAYS}")}
""",
    "weather_raw": f"""
{_copied("weather_staging", "county_code county_name date prcp tavg tmin tmax")}
{_hashed("weather_staging", "county_code county_name date prcp tavg tmin tmax")}
filename <- weather_staging.filename
* <~ weather_staging.filename
""",
    "training_data": """
unique_id <- yellow_rides_hourly_actuals.pulocationid
ds <- yellow_rides_hourly_actuals.datetime_hour
y <- yellow_rides_hourly_actuals.total_rides
* <~ yellow_rides_hourly_actuals.pulocationid yellow_rides_hourly_actuals.datetime_hour
""",
    "model": """
unique_id <- training_data.unique_id
ds <- training_data.ds
forecast <- training_data.y
forecast <~ training_data.unique_id training_data.ds
""",
    "yellow_rides_hourly_forecast": """
year <- model.ds
month <- model.ds
day <- model.ds
hour <- model.ds
pulocationid <- model.unique_id
forecasted_total_rides <- model.forecast
""",
}
"""By table, for yellow taxis and seasonal-naive, with zones that were asked for."""

BUSIEST = "* <~ yellow_rides_hourly_actuals.total_rides"
"""What is added for the training data if the zones are chosen by their rides."""

REPEATED = f"* <~ {_each('yellow_taxi_staging', TRIPS)}"
"""What is added for raw if a file repeats rows, of which one is kept."""

WEATHER_MODEL = {
    "training_data": """
unique_id <- green_rides_hourly_actuals.pulocationid
ds <- green_rides_hourly_actuals.datetime_hour
y <- green_rides_hourly_actuals.total_rides
county_code <- zones.csv.county_code
county_code <~ green_rides_hourly_actuals.pulocationid zones.csv.zone
prcp <- weather_raw.prcp
tavg <- weather_raw.tavg
tmin <- weather_raw.tmin
tmax <- weather_raw.tmax
"""
    + "".join(
        f"{element} <~ green_rides_hourly_actuals.pulocationid"
        " green_rides_hourly_actuals.datetime_hour weather_raw.county_code weather_raw.date"
        " zones.csv.zone zones.csv.county_code\n"
        for element in ELEMENTS
    )
    + """
* <~ green_rides_hourly_actuals.pulocationid green_rides_hourly_actuals.datetime_hour
""",
    "model": """
unique_id <- training_data.unique_id
ds <- training_data.ds
forecast <- training_data.y training_data.ds training_data.prcp training_data.tavg
forecast <- training_data.tmin training_data.tmax
forecast <~ training_data.unique_id training_data.county_code
""",
}
"""For green taxis and the weather model, with zones that were asked for."""


class Edge(NamedTuple):
    """An edge between a column of a table and a source column, `DATASET.COLUMN`."""

    target: str
    source: str
    kind: str


def truth(text: str, columns: Iterable[str], files: Mapping[str, Iterable[str]]) -> set[Edge]:
    """Return the edges of a truth table.

    `columns` are those of the table, and `files` the files that stand for a name like `trips`.
    """
    edges = set()
    for line in filter(None, map(str.strip, text.splitlines())):
        target, arrow, *sources = line.split()
        kind = {"<-": DIRECT, "<~": INDIRECT}[arrow]
        for source in sources:
            dataset, _, column = source.rpartition(".")
            edges |= {
                Edge(of, f"{name}.{column}", kind)
                for name in files.get(dataset, [dataset])
                for of in (columns if target == "*" else [target])
            }
    return edges


def reported(tree: Mapping[str, Any]) -> set[Edge]:
    """Return the edges of headwater's answer about the columns of a table (one step up)."""
    edges = set()
    for column in tree["up"]["children"]:
        for step in column["children"]:
            dataset = step["name"].rsplit("/", 1)[-1].removeprefix("nyc_taxi.")
            source = f"{dataset}.{step['field']}"
            if step["isDirect"]:
                edges.add(Edge(column["field"], source, DIRECT))
            if not step["isDirect"] or INDIRECT_SUBTYPES & set(step["transformation"].split(", ")):
                edges.add(Edge(column["field"], source, INDIRECT))
    return edges


def assert_same(table: str, actual: set[Edge], expected: set[Edge]) -> None:
    """Fail unless precision and recall are both 1.00; name the edges that are wrong."""
    right = len(actual & expected)
    precision, recall = right / max(len(actual), 1), right / max(len(expected), 1)
    assert actual == expected, (
        f"{table}: precision {precision:.2f}, recall {recall:.2f}; "
        f"false: {sorted(actual - expected)[:10]}, missing: {sorted(expected - actual)[:10]}"
    )
