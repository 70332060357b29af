from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from lakehouse.catalog import open_catalog
from lakehouse.names import DATABASE
from lakehouse.settings import Settings
from lakehouse.sources import WEATHER_ELEMENTS
from metaflow_flows.train_forecast_model import tables

START, AS_OF = datetime(2025, 5, 2), datetime(2025, 6, 1)
COUNTIES = ["30061", "30081"]
NO_VALUES: dict[str, float | None] = dict.fromkeys(WEATHER_ELEMENTS)
NONE_WITH_A_REMEDY = r"has no prcp, .* 2025-05-02 .* ingest_weather_data .* --model seasonal_naive"


def day(when: date, county: str = "30061", **elements: float | None) -> dict[str, Any]:
    values = dict.fromkeys(WEATHER_ELEMENTS, 1.5) | elements
    return {"county_code": county, "county_name": "a county", "date": when, **values}


def load(settings: Settings, *days: dict[str, Any]) -> None:
    """Create the table with these rows."""
    kinds = {"county_code": pa.string(), "county_name": pa.string(), "date": pa.date32()}
    kinds |= dict.fromkeys(WEATHER_ELEMENTS, pa.float64())
    rows = pa.Table.from_pylist(list(days), schema=pa.schema(kinds))
    catalog = open_catalog(settings)
    catalog.create_namespace_if_not_exists(DATABASE)
    catalog.create_table(tables.WEATHER.identifier, schema=rows.schema).append(rows)


def test_only_complete_days_of_the_counties_are_read(settings: Settings) -> None:
    inside = [day(date(2025, 5, 2)), day(date(2025, 5, 31), "30081", tmin=None)]
    outside = [day(date(2025, 5, 1)), day(date(2025, 6, 1)), day(date(2025, 5, 9), "06037")]
    load(settings, *inside, *outside)
    table, rows = tables.read_weather(settings, COUNTIES, START, AS_OF)
    assert table.name() == (DATABASE, "weather_raw")
    weather = rows.sort_values("date").set_index(["date", "county_code"])
    assert list(weather.index) == [
        (pd.Timestamp(2025, 5, 2), "30061"),
        (pd.Timestamp(2025, 5, 31), "30081"),
    ]
    assert list(weather) == list(WEATHER_ELEMENTS)
    assert weather["tmin"].isna().tolist() == [False, True]


def test_incomplete_day_of_the_forecast_is_not_read(settings: Settings) -> None:
    load(settings, day(date(2025, 5, 30)), day(date(2025, 5, 31)))
    _, rows = tables.read_weather(settings, COUNTIES, START, datetime(2025, 5, 31, 10))
    assert rows["date"].tolist() == [pd.Timestamp(2025, 5, 30)]


def test_missing_weather_table_error_has_a_fix(settings: Settings) -> None:
    with pytest.raises(tables.NoData, match=NONE_WITH_A_REMEDY):
        tables.read_weather(settings, COUNTIES, START, AS_OF)


@pytest.mark.parametrize(
    "row",
    [
        day(date(2025, 4, 30)),
        day(date(2025, 5, 9), "06037"),
        day(date(2025, 5, 9), "30061", **NO_VALUES),
    ],
    ids=["other days", "other counties", "no value"],
)
def test_window_without_weather_error_has_a_fix(settings: Settings, row: dict[str, Any]) -> None:
    load(settings, row)
    with pytest.raises(tables.NoData, match=NONE_WITH_A_REMEDY):
        tables.read_weather(settings, COUNTIES, START, AS_OF)
