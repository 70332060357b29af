"""Rules for the values of weather files: units, months, counties, and the month before."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lakehouse.generator import daily_weather
from lakehouse.weather_file import CITY_COUNTIES
from lakehouse.weather_values import Month, problems_of, rules_of

Change = Callable[[Any], Any]


def _generated(month: str) -> Month:
    days = [daily_weather(code, month) for code in CITY_COUNTIES]
    rounded = {e: np.round([county[e] for county in days], 2) for e in days[0]}
    padded = {e: np.pad(v, ((0, 0), (0, 31 - v.shape[1])), constant_values=np.nan)
              for e, v in rounded.items()}  # fmt: skip
    return Month(f"{month.replace('-', '')}-cty.csv", int(month[5:]), CITY_COUNTIES, padded)


def _country(number: int) -> Month:
    """Return a month of 200 counties along a line, from cold to warm and from dry to wet."""
    random = np.random.default_rng(number)
    place = np.linspace(-1, 1, 200)[:, None]
    season = 12.5 - 12 * np.cos((number - 1) / 6 * np.pi)
    wave = np.sin(np.arange(31) / 3 + 6 * place + number)
    values = {
        "tavg": season + 10 * place + 3 * wave + random.normal(0, 0.3, (200, 31)),
        "prcp": np.maximum(20 * wave + random.normal(0, 1, (200, 31)), 0),
    }
    names = {f"{41000 + 2 * n}": f"TX: County {n}" for n in range(200)}
    return Month(f"2023{number:02}-cty.csv", number, names, values)


def _changed(month: Month, element: str, change: Change) -> Month:
    return replace(month, values={**month.values, element: change(month.values[element].copy())})


def _rules(month: Month, before: Month | None) -> set[tuple[str, str]]:
    return {(problem.rule, problem.column) for problem in problems_of(month, before)}


def _put(place: tuple[Any, ...], value: float) -> Change:
    def change(values: Any) -> Any:
        values[place] = value
        return values

    return change


def _exchange(one: int, other: int) -> Change:
    def change(values: Any) -> Any:
        values[[one, other]] = values[[other, one]]
        return values

    return change


def test_generated_months_break_no_rule() -> None:
    months = [f"{year}-{month:02}" for year in (2023, 2024) for month in range(1, 13)]
    found = [_generated(month) for month in months]
    for month, before in zip(found, [None, *found], strict=False):
        assert _rules(month, before) == set()


@pytest.mark.parametrize("city", [True, False])
def test_real_months_break_no_rule(city: bool, shared: Path) -> None:
    months = []
    for number in (8, 9):  # hurricanes: 172 mm on a day
        values: dict[str, list[list[float]]] = {}
        names: dict[str, str] = {}
        for element in ("prcp", "tavg"):
            name = f"data/weather/averages/2021/{element}-2021{number:02}-cty-scaled.csv"
            with (shared / name).open() as file:
                rows = [row for row in csv.reader(file) if not city or row[1] in CITY_COUNTIES]
            names = {row[1]: row[2] for row in rows}
            values[element] = [[float(value) for value in row[6:]] for row in rows]
        arrays = {e: np.where(np.array(v) == -999.99, np.nan, v) for e, v in values.items()}
        months.append(Month(f"2021{number:02}-cty.csv", number, names, arrays))
    assert _rules(months[0], None) == set()
    assert _rules(months[1], months[0]) == set()


@pytest.mark.parametrize(
    ("element", "change", "rule"),
    [
        ("prcp", lambda v: v * 0, "varies"),
        ("tavg", lambda v: v * 0, "varies"),
        ("tmin", _put((slice(None), slice(0, 10)), 0.0), "varies"),
        ("prcp", lambda v: np.round(v / 25.4, 2), "unit"),
        ("tavg", lambda v: v * 1.8 + 32, "unit"),
        ("tmax", lambda v: v + 273.15, "unit"),
        ("tavg", _put((2,), 30.0), "county_values"),
        ("prcp", _put((2,), 0.0), "county_values"),
    ],
)
@pytest.mark.parametrize("month", ["2024-01", "2024-07"])
def test_wrong_values_are_found_without_the_month_before(
    month: str, element: str, change: Change, rule: str
) -> None:
    assert (rule, element) in _rules(_changed(_generated(month), element, change), None)


@pytest.mark.parametrize(
    ("element", "change"),
    [
        ("prcp", lambda v: v / 25.4),
        ("prcp", lambda v: v * 10),
        ("prcp", _put((0, 3), 700.0)),
        ("tavg", lambda v: v + 20),
        ("tavg", lambda _: _country(6).values["tavg"]),
    ],
)
def test_values_unlike_the_month_before_are_found(element: str, change: Change) -> None:
    month, before = _country(7), _country(6)
    assert _rules(month, before) == set()
    assert ("month_before", element) in _rules(_changed(month, element, change), before)


@pytest.mark.parametrize("element", ["prcp", "tavg"])
def test_values_exchanged_between_counties_are_found(element: str) -> None:
    month, before = _changed(_country(7), element, _exchange(20, 160)), _country(6)
    texts = [p.text for p in problems_of(month, before) if p.rule == "county_values"]
    assert len(texts) == 1
    assert "41040 (TX: County 20)" in texts[0]
    assert "41320 (TX: County 160)" in texts[0]


def test_renamed_county_is_found() -> None:
    before = _country(6)
    names = {**before.counties, "41040": "TX: County 21"}
    assert _rules(replace(_country(7), counties=names), before) == {("county_names", "county_name")}


def test_rules_without_data_are_not_reported_as_passed() -> None:
    month, before = _country(7), _country(6)
    short = _changed(month, "prcp", _put((slice(None), slice(10, 31)), np.nan))
    rules = set(rules_of(short, before))
    assert ("month_before", "tavg") in rules
    assert not [rule for rule, column in rules if column == "prcp"]
    assert "month_before" not in {rule for rule, _ in rules_of(month, None)}


def test_drought_is_not_reported_as_a_wrong_unit() -> None:
    before = _generated("2024-09")
    dry = np.zeros((5, 31))
    dry[:, 12] = [0.2, 0.25, 0.3, 0.2, 0.25]  # New York in October 2024
    month = replace(_generated("2024-10"), values={"prcp": dry})
    assert _rules(month, before) == set()
