"""The flow's tables, through PyIceberg."""

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
    """Trips of a service, as loaded."""
    return Table(f"{service}_taxi_raw")


def actuals(service: str) -> Table:
    """Rides an hour and zone."""
    return Table(f"{service}_rides_hourly_actuals")


def forecast(service: str) -> Table:
    """Rides an hour and zone as forecast."""
    return Table(f"{service}_rides_hourly_forecast")


SERVICES = ("yellow", "green")


class NoData(PipelineError):
    """There is nothing to train on."""


def newest_month_end(settings: Settings, service: str = "yellow") -> datetime:
    """Midnight after the newest loaded file's month.

    Raises:
        NoData: no file was loaded yet.
    """
    newest = datetime.strptime(_loaded_months(settings, service)[-1], "%Y-%m")
    return (newest + timedelta(days=31)).replace(day=1)


def require_loaded(settings: Settings, service: str, start: datetime, end: datetime) -> None:
    """Raises:
    NoData: no loaded file's month reaches into [start, end).
    """
    months = _loaded_months(settings, service)
    last = f"{end - timedelta(microseconds=1):%Y-%m}"
    if not any(f"{start:%Y-%m}" <= month <= last for month in months):
        raise NoData(
            f"{raw(service).identifier} holds {', '.join(months)}, nothing from {start} to {end}: "
            "name another as_of_datetime, or load these months."
        )


def _loaded_months(settings: Settings, service: str) -> list[str]:
    """Months of the loaded files, from the table's partitions, oldest first; at least one."""
    files = rows_by_partition(load_table(settings, raw(service)))
    if not files:
        raise NoData(
            f"{raw(service).identifier} holds no trips yet; run the DAG "
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
    """The table and its rows of [start, end), as of now or of a snapshot.

    Raises:
        NoData: there are none.
    """
    identifier = actuals(service).identifier
    table = open_catalog(settings).load_table(identifier)
    hours = f"datetime_hour >= '{start.isoformat()}' and datetime_hour < '{end.isoformat()}'"
    rows: pd.DataFrame = table.scan(row_filter=hours, snapshot_id=snapshot_id).to_pandas()
    if rows.empty:
        raise NoData(f"{identifier} has no ride from {start} to {end}.")
    return table, rows


def read_weather(
    settings: Settings,
    counties: Iterable[str],
    start: datetime,
    as_of: datetime,
    snapshot_id: int | None = None,
) -> tuple[IcebergTable, pd.DataFrame]:
    """The table and its days from `start` that are over at `as_of`, of those counties.

    The rows have `county_code`, `date` (midnight), prcp (mm), tavg, tmin, tmax (degrees Celsius);
    an element that nobody published is null throughout.

    Raises:
        NoData: there are none, or none with a value.
    """
    import pandas as pd

    columns = ["county_code", "date", *WEATHER_ELEMENTS]
    codes = ", ".join(f"'{code}'" for code in counties)
    days = f"date >= '{start.date()}' and date < '{as_of.date()}'"
    rows = pd.DataFrame(columns=columns)
    table = load_table(settings, WEATHER)
    if table is not None:
        where = f"county_code in ({codes}) and {days}"
        found = table.scan(where, tuple(columns), snapshot_id=snapshot_id)
        rows = found.to_pandas().astype({"date": "datetime64[ns]"})
    if table is None or rows[[*WEATHER_ELEMENTS]].isna().all(axis=None):
        raise NoData(
            f"{WEATHER.identifier} has no {', '.join(WEATHER_ELEMENTS)} of New York's counties "
            f"from {start.date()} to the day before {as_of.date()}; run the DAG "
            "ingest_weather_data for these months, or train with --model seasonal_naive."
        )
    return table, rows


def forecast_rows(forecasts: pd.DataFrame, as_of: datetime, model: str, version: str) -> pa.Table:
    """Rows of the forecast table from `unique_id`, `ds`, `forecast`; rides are whole: rounded."""
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
    """Replace the forecasts made as of that moment; the table as of afterwards."""
    catalog = open_catalog(settings)
    identifier = forecast(service).identifier
    table = catalog.create_table_if_not_exists(
        identifier, schema=rows.schema, properties=WRITERS_AT_ONCE
    )
    describe(table)
    with warnings.catch_warnings():
        # Nothing to replace is the usual case: a moment is mostly forecast once.
        warnings.filterwarnings("ignore", message="Delete operation did not match any records")
        table.overwrite(
            rows,
            overwrite_filter=f"as_of = '{as_of.isoformat()}'",
            snapshot_properties={PARTITION: as_of.isoformat()},
        )
    return table
