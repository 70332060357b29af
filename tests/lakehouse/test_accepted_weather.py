"""A month of unusual weather stops the load unless ACCEPT_WEATHER_MONTHS contains it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from lakehouse.generator import daily_weather
from lakehouse.settings import Settings
from lakehouse.weather_file import CITY_COUNTIES
from spark_jobs.weather import compare_months


def _rows(partition: str) -> list[dict[str, Any]]:
    """Return generated rows of a month in which all days have the same mean temperature."""
    if partition != "202605-cty.csv":
        return []
    return [
        {
            "county_code": code,
            "county_name": name,
            "date": date(2026, 5, day + 1),
            **{element: float(v[day]) for element, v in daily_weather(code, "2026-05").items()},
            "tavg": 17.0,
        }
        for code, name in CITY_COUNTIES.items()
        for day in range(31)
    ]


@pytest.mark.parametrize(
    ("accepted", "is_critical"), [("", True), ("2026-04", True), ("2026-04, 2026-05", False)]
)
def test_unusual_month_is_loaded_if_accepted(accepted: str, is_critical: bool) -> None:
    settings = Settings.model_validate({"accept_weather_months": accepted})
    results = compare_months(settings, "202605-cty.csv", _rows)
    (broken,) = [result for result in results if result.broken]
    assert broken.critical == is_critical
    assert "100% of the values are 17" in str(broken)
    remedy = "if the values are right, set" if is_critical else "accepted by"
    assert f"({remedy} ACCEPT_WEATHER_MONTHS=2026-05)" in str(broken)
