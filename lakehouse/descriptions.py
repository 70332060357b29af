"""Declarations of the tables' descriptions, owners and tags.

Airflow tasks and flow steps send them to lineage as facets. The tables store them as Iceberg
comments, which Spark's listener and PyIceberg report with the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException

from lakehouse.names import Table

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import DatasetFacet
    from pyiceberg.table import Table as IcebergTable


INGESTION, FORECASTING = "ingestion", "forecasting"
"""The teams that own DAGs, flows and tables."""
FLOW_TAGS = ("--tag", "domain:taxi")
"""Options of the training flow that tag its runs."""


@dataclass(frozen=True)
class Description:
    """A table's description, owner, subject, and columns with personal data."""

    text: str
    pii: tuple[str, ...] = ()
    owner: str = INGESTION
    domain: str = "taxi"


def _of_service(service: str, prefix: str) -> dict[str, Description]:
    # The end of a trip and the tip are personal data. Pickups are only counted.
    pii = (f"{prefix}_dropoff_datetime", "dolocationid", "tip_amount")
    return {
        f"{service}_taxi_staging": Description(
            f"Trips of {service} taxis from the files of one run, typed, before the checks.", pii
        ),
        f"{service}_taxi_quarantine": Description(
            f"Trips of {service} taxis with impossible values, with the reason; not in raw.", pii
        ),
        f"{service}_taxi_raw": Description(
            f"Trips of {service} taxis as TLC publishes them, one partition per file.", pii
        ),
        f"{service}_rides_hourly_actuals": Description(
            f"Rides of {service} taxis per hour and pickup zone.", owner=FORECASTING
        ),
        f"{service}_rides_hourly_forecast": Description(
            f"Forecast rides of {service} taxis per hour and pickup zone, one set per `as_of`.",
            owner=FORECASTING,
        ),
    }


TABLES = {
    **_of_service("yellow", "tpep"),
    **_of_service("green", "lpep"),
    "weather_staging": Description(
        "Daily weather per county from the files of one run, before the checks.", domain="weather"
    ),
    "weather_raw": Description(
        "Daily weather per county (NOAA nClimGrid-Daily), one partition per month.",
        domain="weather",
    ),
}

_TRIP_TIMES = {
    f"{prefix}_{event}_datetime": f"When the meter was switched {state}, in New York's time."
    for prefix in ("tpep", "lpep")
    for event, state in (("pickup", "on"), ("dropoff", "off"))
}

COLUMNS = {
    **_TRIP_TIMES,
    "vendorid": "Code of the provider of the taxi's record system.",
    "passenger_count": "Passengers, as entered by the driver.",
    "trip_distance": "Distance in miles, by the taximeter.",
    "ratecodeid": "Code of the rate at the end of the trip, such as 1 standard or 2 JFK.",
    "store_and_fwd_flag": "Y if the taxi stored the record before it was sent.",
    "pulocationid": "TLC taxi zone of the pickup, 1 to 265.",
    "dolocationid": "TLC taxi zone of the drop-off, 1 to 265.",
    "payment_type": "Code of the payment method, such as 1 card or 2 cash.",
    "fare_amount": "Fare by time and distance, in dollars.",
    "extra": "Surcharges for rush hours and nights, in dollars.",
    "mta_tax": "MTA tax, in dollars.",
    "tip_amount": "Tip paid by card, in dollars; cash tips are not included.",
    "tolls_amount": "Tolls of the trip, in dollars.",
    "improvement_surcharge": "Improvement surcharge, in dollars.",
    "total_amount": "Amount charged, without cash tips, in dollars.",
    "congestion_surcharge": "New York State's congestion surcharge, in dollars.",
    "airport_fee": "Fee for pickups at LaGuardia and JFK, in dollars.",
    "ehail_fee": "Fee for hailing by app, in dollars.",
    "trip_type": "1 if hailed on the street, 2 if dispatched.",
    "cbd_congestion_fee": "MTA's fee for the congestion relief zone, since 2025, in dollars.",
    "unique_row_id": "Hash of the source columns; equal rows of a file are merged into one.",
    "filename": "Source file, or the month's files for weather; a load replaces its rows.",
    "ingest_timestamp": "When the row was written.",
    "openlineage_run_id": "Lineage run of the task that wrote the row.",
    "reason": "Each broken rule: the column, the value received and the values allowed.",
    "quarantined_at": "When the row was put in quarantine.",
    "county_code": "NCEI code of the county.",
    "county_name": "State and name of the county.",
    "date": "Day.",
    "prcp": "Precipitation in mm; null if not observed.",
    "tavg": "Mean temperature in degrees Celsius; null if not observed.",
    "tmin": "Minimum temperature in degrees Celsius; null if not observed.",
    "tmax": "Maximum temperature in degrees Celsius; null if not observed.",
    "datetime_hour": "Start of the hour of the pickups, in New York's time.",
    "total_rides": "Number of rides.",
    "year": "Year of the forecast hour.",
    "month": "Month of the forecast hour.",
    "day": "Day of the month of the forecast hour.",
    "hour": "Forecast hour of the day, 0 to 23, in New York's time.",
    "forecasted_total_rides": "Forecast number of rides, rounded.",
    "as_of": "Time at which the forecast begins: the end of the training data.",
    "model": "Kind of model, such as seasonal_naive.",
    "model_version": "Run of the training flow that fitted the model.",
}
"""Descriptions by column name; a name has the same meaning in every table."""


def describe(table: IcebergTable) -> bool:
    """Write the declared descriptions to the table as comments; return True if any was new.

    If another writer commits at the same time, nothing is written until the next load.
    """
    declared = TABLES.get(table.name()[-1])
    if declared is None:
        return False
    comments = {name: text for name in table.schema().column_names if (text := COLUMNS.get(name))}
    changed = {
        name: text for name, text in comments.items() if table.schema().find_field(name).doc != text
    }
    if not changed and table.properties.get("comment") == declared.text:
        return False
    try:
        with table.transaction() as transaction:
            transaction.set_properties({"comment": declared.text})
            with transaction.update_schema() as update:
                for name, text in changed.items():
                    update.update_column(name, doc=text)
    except CommitFailedException:
        return False
    return True


def dataset_facets(table: Table) -> dict[str, DatasetFacet]:
    """Return the description, owner and tags of a table as OpenLineage's dataset facets."""
    from openlineage.client.facet_v2 import documentation_dataset, ownership_dataset, tags_dataset

    declared = TABLES.get(table.name)
    if declared is None:
        return {}
    owner, tag = ownership_dataset.Owner, tags_dataset.TagsDatasetFacetFields
    pii = [tag("pii", "true", "USER", column) for column in declared.pii]
    return {
        "documentation": documentation_dataset.DocumentationDatasetFacet(declared.text),
        "ownership": ownership_dataset.OwnershipDatasetFacet([owner(declared.owner, "OWNER")]),
        "tags": tags_dataset.TagsDatasetFacet([tag("domain", declared.domain, "USER"), *pii]),
    }
