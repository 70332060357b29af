"""Column lineage of the flow's datasets.

No listener observes pandas and the models, so the flow declares it.
"""

from __future__ import annotations

from dataclasses import replace

from lakehouse.sources import WEATHER_ELEMENTS
from metaflow_openlineage import ColumnSource, Dataset

ZONE, HOUR, RIDES, FORECAST = "unique_id", "ds", "y", "forecast"
"""Columns of the training data and of a model's forecasts, as Nixtla's libraries name them."""


def training_data(target: Dataset, actuals: Dataset, *, by_rides: bool) -> Dataset:
    """Return the training data with its lineage; `by_rides` if it has the busiest zones."""
    columns: dict[str, list[ColumnSource]] = {
        ZONE: [(actuals, "pulocationid", "IDENTITY")],
        HOUR: [(actuals, "datetime_hour", "TRANSFORMATION")],  # includes hours without a ride
        RIDES: [(actuals, "total_rides", "TRANSFORMATION")],  # zero for hours without a ride
    }
    rows: list[ColumnSource] = [
        (actuals, "datetime_hour", "FILTER"),
        (actuals, "pulocationid", "FILTER"),
    ]
    if by_rides:
        rows.append((actuals, "total_rides", "SORT"))
    return replace(target, column_lineage=columns, row_lineage=rows)


def weather_columns(target: Dataset, actuals: Dataset, weather: Dataset, zones: Dataset) -> Dataset:
    """Return the training data with the lineage of the columns that `with_weather` adds.

    The joins keep all rows, so they only affect the values of the added columns.
    """
    county: list[ColumnSource] = [(actuals, "pulocationid", "JOIN"), (zones, "zone", "JOIN")]
    day: list[ColumnSource] = [
        *county,
        (zones, "county_code", "JOIN"),
        (weather, "county_code", "JOIN"),
        (actuals, "datetime_hour", "JOIN"),
        (weather, "date", "JOIN"),
    ]
    columns: dict[str, list[ColumnSource]] = {
        "county_code": [(zones, "county_code", "TRANSFORMATION"), *county],
        **{element: [(weather, element, "IDENTITY"), *day] for element in WEATHER_ELEMENTS},
    }
    return replace(target, column_lineage=columns)


def model(target: Dataset, training: Dataset, *, needs_weather: bool) -> Dataset:
    """Return the model with the columns of its forecasts and their lineage.

    The weather model uses the calendar and the weather, and pools the zones of a county.
    Seasonal-naive repeats the rides of a zone's hour.
    """
    rides: list[ColumnSource] = [(training, RIDES, "TRANSFORMATION"), (training, ZONE, "GROUP_BY")]
    if needs_weather:
        used = (HOUR, *WEATHER_ELEMENTS)
        rides += [(training, column, "TRANSFORMATION") for column in used]
        rides.append((training, "county_code", "GROUP_BY"))
    else:
        rides.append((training, HOUR, "SORT"))
    fields = (
        (ZONE, "int64", "Pickup zone."),
        (HOUR, "datetime64[ns]", "Hour after the training data, in New York time."),
        (FORECAST, "float64", "Rides of the zone in the hour."),
    )
    columns: dict[str, list[ColumnSource]] = {
        ZONE: [(training, ZONE, "IDENTITY")],
        HOUR: [(training, HOUR, "TRANSFORMATION")],
        FORECAST: rides,
    }
    return replace(target, fields=fields, column_lineage=columns)


def forecasts(target: Dataset, model: Dataset) -> Dataset:
    """Return the forecast table with its lineage.

    `as_of`, `model` and `model_version` come from the run, not from a column.
    """
    hour: dict[str, list[ColumnSource]] = {
        part: [(model, HOUR, "TRANSFORMATION")] for part in ("year", "month", "day", "hour")
    }
    columns: dict[str, list[ColumnSource]] = {
        **hour,
        "pulocationid": [(model, ZONE, "IDENTITY")],
        "forecasted_total_rides": [(model, FORECAST, "TRANSFORMATION")],
    }
    return replace(target, column_lineage=columns)
