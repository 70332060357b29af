"""Read and write the flow's tables with PyIceberg."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lakehouse.catalog import (
    PARTITION,
    WRITERS_AT_ONCE,
    load_table,
    open_catalog,
    rows_by_partition,
)
from lakehouse.descriptions import describe
from lakehouse.errors import PipelineError
from lakehouse.names import Table
from lakehouse.settings import Settings
from lakehouse.sources import WEATHER_ELEMENTS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyiceberg.table import Table as IcebergTable

WEATHER = Table("weather_raw")


def raw(service: str) -> Table:
    """Return the table of a service's trips."""
    return Table(f"{service}_taxi_raw")


def actuals(service: str) -> Table:
    """Return the table of rides per hour and zone."""
    return Table(f"{service}_rides_hourly_actuals")


def forecast(service: str) -> Table:
    """Return the table of forecast rides per hour and zone."""
    return Table(f"{service}_rides_hourly_forecast")


SERVICES = ("yellow", "green")


class NoData(PipelineError):
    """There is no data to train on."""


def newest_month_end(settings: Settings, service: str = "yellow") -> datetime:
    """Return the midnight after the month of the newest loaded file.

    Raises:
        NoData: no file is loaded.
    """
    newest = datetime.strptime(_loaded_months(settings, service)[-1], "%Y-%m")
    return (newest + timedelta(days=31)).replace(day=1)


def require_loaded(settings: Settings, service: str, start: datetime, end: datetime) -> None:
    """Check that a loaded month overlaps [start, end).

    Raises:
        NoData: no loaded month does.
    """
    months = _loaded_months(settings, service)
    last = f"{end - timedelta(microseconds=1):%Y-%m}"
    if not any(f"{start:%Y-%m}" <= month <= last for month in months):
        raise NoData(
            f"{raw(service).identifier} contains {', '.join(months)}, but nothing from {start} to "
            f"{end}. Use another as_of_datetime, or load these months."
        )


def _loaded_months(settings: Settings, service: str) -> list[str]:
    """Return the months of the loaded files, oldest first; raise NoData without any."""
    files = rows_by_partition(load_table(settings, raw(service)))
    if not files:
        raise NoData(
            f"{raw(service).identifier} contains no trips. Run the DAG "
            f"ingest_{service}_taxi_data first."
        )
    return sorted(file.rsplit("_", 1)[1][:7] for file in files)


def read_actuals(
    settings: Settings,
    service: str,
    start: datetime,
    end: datetime,
    snapshot_id: int | None = None,
) -> tuple[IcebergTable, pd.DataFrame]:
    """Return the table and its rows of [start, end), now or at a snapshot.

    Raises:
        NoData: there are none.
    """
    identifier = actuals(service).identifier
    table = open_catalog(settings).load_table(identifier)
    hours = f"datetime_hour >= '{start.isoformat()}' and datetime_hour < '{end.isoformat()}'"
    rows: pd.DataFrame = table.scan(row_filter=hours, snapshot_id=snapshot_id).to_pandas()
    if rows.empty:
        raise NoData(f"{identifier} has no ride from {start} to {end}. Load these months.")
    return table, rows


def read_weather(
    settings: Settings,
    counties: Iterable[str],
    start: datetime,
    as_of: datetime,
    snapshot_id: int | None = None,
) -> tuple[IcebergTable, pd.DataFrame]:
    """Return the table and the counties' weather on the complete days from `start` to `as_of`.

    The rows have `county_code`, `date` (midnight), prcp (mm), tavg, tmin and tmax (degrees
    Celsius). The values of an unpublished element are null.

    Raises:
        NoData: there are no rows with a value.
    """
    import pandas as pd

    columns = ["county_code", "date", *WEATHER_ELEMENTS]
    codes = ", ".join(f"'{code}'" for code in counties)
    days = f"date >= '{start.date()}' and date < '{as_of.date()}'"
    rows = pd.DataFrame(columns=columns)
    table = load_table(settings, WEATHER)
    if table is not None:
        where = f"county_code in ({codes}) and {days}"
        scan = table.scan(where, tuple(columns), snapshot_id=snapshot_id)
        rows = scan.to_pandas().astype({"date": "datetime64[ns]"})
    if table is None or rows[[*WEATHER_ELEMENTS]].isna().all(axis=None):
        raise NoData(
            f"{WEATHER.identifier} has no {', '.join(WEATHER_ELEMENTS)} for New York's counties "
            f"from {start.date()} to the day before {as_of.date()}. Run the DAG "
            "ingest_weather_data for these months, or train with --model seasonal_naive."
        )
    return table, rows


def forecast_rows(forecasts: pd.DataFrame, as_of: datetime, model: str, version: str) -> pa.Table:
    """Convert `unique_id`, `ds` and `forecast` to rows of the forecast table; round the rides."""
    import pyarrow as pa

    hour = forecasts["ds"].dt
    columns = {
        "year": pa.array(hour.year, pa.int32()),
        "month": pa.array(hour.month, pa.int32()),
        "day": pa.array(hour.day, pa.int32()),
        "hour": pa.array(hour.hour, pa.int32()),
        "pulocationid": pa.array(forecasts["unique_id"], pa.int32()),
        "forecasted_total_rides": pa.array(forecasts["forecast"].round().astype(int), pa.int64()),
        "as_of": pa.array([as_of] * len(forecasts), pa.timestamp("us")),
        "model": pa.array([model] * len(forecasts), pa.string()),
        "model_version": pa.array([version] * len(forecasts), pa.string()),
    }
    return pa.table(columns)


def write_forecasts(
    settings: Settings, service: str, rows: pa.Table, as_of: datetime
) -> IcebergTable:
    """Replace the forecasts with the same `as_of`; return the updated table."""
    catalog = open_catalog(settings)
    identifier = forecast(service).identifier
    table = catalog.create_table_if_not_exists(
        identifier, schema=rows.schema, properties=WRITERS_AT_ONCE
    )
    describe(table)
    with warnings.catch_warnings():
        # Usually there is nothing to replace.
        warnings.filterwarnings("ignore", message="Delete operation did not match any records")
        table.overwrite(
            rows,
            overwrite_filter=f"as_of = '{as_of.isoformat()}'",
            snapshot_properties={PARTITION: as_of.isoformat()},
        )
    return table
