"""The flow's tables, through PyIceberg."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lakehouse.catalog import SLICE, open_catalog
from lakehouse.errors import PipelineError
from lakehouse.names import Table
from lakehouse.settings import Settings
from lakehouse.sources import YELLOW

if TYPE_CHECKING:
    import pandas as pd
    from pyiceberg.table import Table as IcebergTable

RAW = Table("yellow_taxi_raw")
ACTUALS = Table("yellow_rides_hourly_actuals")
FORECAST = Table("yellow_rides_hourly_forecast")


class NoData(PipelineError):
    """There is nothing to train on."""


def newest_month_end(settings: Settings) -> datetime:
    """Midnight after the newest loaded file's month, from the table's partitions.

    Raises:
        NoData: no file was loaded yet.
    """
    from pyiceberg.exceptions import NoSuchTableError

    try:
        raw = open_catalog(settings).load_table(RAW.identifier)
        files = raw.inspect.partitions().column("partition").to_pylist()
    except NoSuchTableError:
        files = []
    months = [f["filename"].rsplit("_", 1)[1][:7] for f in files]
    if not months:
        raise NoData(
            f"{RAW.identifier} holds no {YELLOW.name} trips yet; run the DAG "
            "ingest_yellow_taxi_data first (`./run demo` does both)."
        )
    newest = datetime.strptime(max(months), "%Y-%m")
    return (newest + timedelta(days=31)).replace(day=1)


def read_actuals(
    settings: Settings, start: datetime, end: datetime
) -> tuple[IcebergTable, pd.DataFrame]:
    """The table as of now and its rows of [start, end).

    Raises:
        NoData: there are none.
    """
    table = open_catalog(settings).load_table(ACTUALS.identifier)
    hours = f"datetime_hour >= '{start.isoformat()}' and datetime_hour < '{end.isoformat()}'"
    rows: pd.DataFrame = table.scan(row_filter=hours).to_pandas()
    if rows.empty:
        raise NoData(f"{ACTUALS.identifier} has no ride from {start} to {end}.")
    return table, rows


def write_forecasts(
    settings: Settings, forecasts: pd.DataFrame, as_of: datetime, model: str, version: str
) -> IcebergTable:
    """Replace the forecasts made as of that moment; the table as of afterwards.

    `forecasts` has `unique_id`, `ds` and `forecast`. Rides are whole, so they are rounded.
    """
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
    rows = pa.table(columns)
    catalog = open_catalog(settings)
    table = catalog.create_table_if_not_exists(FORECAST.identifier, schema=rows.schema)
    with warnings.catch_warnings():
        # Nothing to replace is the usual case: a moment is mostly forecast once.
        warnings.filterwarnings("ignore", message="Delete operation did not match any records")
        table.overwrite(
            rows,
            overwrite_filter=f"as_of = '{as_of.isoformat()}'",
            snapshot_properties={SLICE: as_of.isoformat()},
        )
    return table
