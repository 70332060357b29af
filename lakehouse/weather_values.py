"""Rules for the values of a month of weather, also compared with the month before.

They find files of the right shape with wrong content: other units, another month, or the values
of other counties. The limits are at least twice as wide as the differences in NOAA's files of 2021
to 2023. Values exchanged between the counties of New York City are not found: these differ by 0.3
degrees, less than from month to month.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakehouse.weather_file import CITY_COUNTIES, DAYS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

TEMPERATURES = ("tavg", "tmin", "tmax")
ENOUGH_DAYS = 20
"""Days with values that a comparison needs; preliminary months may have fewer."""
MOST_EQUAL = 0.2
"""Largest share of one temperature among the values of a month; NOAA's have 0.005."""
LEAST_RAIN = 0.8
"""Smallest mean of the days with rain in mm; in inches, the wettest month has 0.72."""
OFTEN_WET = 0.2
"""Share of days with rain above which a small mean is not a drought."""
SEASON_DEGREES = 10.0
"""Largest difference of the city's mean from the one of the season, in degrees Celsius."""
MONTH_DEGREES = 15.0
"""Largest difference between the means of two months, in degrees Celsius."""
CITY_DEGREES = 3.0
"""Largest difference between a county's mean and the city's, in degrees Celsius."""
MONTH_FACTOR = 8.0
"""Largest factor between the rain per wet day of two months."""
CITY_FACTOR = 3.0
"""Largest factor between a county's rain and the city's, if it rained 1 mm a day."""
EXTREME_RAIN = 300.0
"""Rain of a day in mm that is only possible at 5 times the highest of the month before."""
MOST_REPEATED = 0.5
"""Largest share of temperatures that equal those of the same day of the month before."""
PEERS = 8
"""Number of counties with the most similar days in the month before, used for comparison."""
EXCHANGED = 2.0
"""A county's distance from its peers, relative to their spread, above which its values may be those
of another county."""
LEAST_SPREAD = 0.5
"""Added to the spread of peers, in mm or degrees Celsius."""
MOST_SUSPECTS = 150


@dataclass(frozen=True)
class Month:
    """The values of a month's counties per element: one row per county, one column per day."""

    name: str
    number: int
    """Month of the year, from 1."""
    counties: Mapping[str, str]
    """Name by code, in the order of the rows."""
    values: Mapping[str, Array]
    """By element; a missing value is NaN. Elements without values are left out."""

    def of(self, element: str, codes: Sequence[str]) -> Array:
        """Return the rows of some counties."""
        rows = {code: row for row, code in enumerate(self.counties)}
        found: Array = self.values[element][[rows[code] for code in codes]]
        return found

    def is_long(self, element: str) -> bool:
        """Return True if an element has values of enough days to be compared."""
        import numpy as np

        if element not in self.values:
            return False
        return int(np.isfinite(self.values[element]).any(axis=0).sum()) >= ENOUGH_DAYS


def month_of(name: str, rows: Sequence[Mapping[str, Any]], elements: Sequence[str]) -> Month:
    """Return the month of a partition (YYYYMM-cty.csv) from its rows in staging or raw."""
    import numpy as np

    counties = {str(row["county_code"]): str(row["county_name"]) for row in rows}
    place = {code: index for index, code in enumerate(counties)}
    values = {element: np.full((len(place), len(DAYS)), np.nan) for element in elements}
    for row in rows:
        for element, array in values.items():
            if row[element] is not None:
                array[place[str(row["county_code"])], row["date"].day - 1] = row[element]
    some = {element: array for element, array in values.items() if np.isfinite(array).any()}
    return Month(name, int(name[4:6]), counties, some)


@dataclass(frozen=True)
class Problem:
    """A rule that the values of a column break; `text` names the values received."""

    rule: str
    column: str
    text: str


def problems_of(month: Month, before: Month | None) -> Iterator[Problem]:
    """Yield the problems of a month; `before` is None if the month before is not loaded."""
    for element in month.values:
        if not month.is_long(element):
            continue
        for rule in _OF_MONTH:
            yield from rule(month, element)
        if before is not None and before.is_long(element):
            for compare in _OF_TWO:
                yield from compare(month, before, element)
    if before is not None:
        yield from _renamed(month, before)


def rules_of(month: Month, before: Month | None) -> Iterator[tuple[str, str]]:
    """Yield the name and the column of each rule that is applied to the values."""
    for element in month.values:
        if month.is_long(element):
            yield from (("varies", element), ("unit", element), ("county_values", element))
            if before is not None and before.is_long(element):
                yield "month_before", element
    if before is not None:
        yield "county_names", "county_name"


def _one_value(month: Month, element: str) -> Iterator[Problem]:
    """Yield a problem if all values, or many temperatures, are equal."""
    import numpy as np

    values = month.values[element]
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    share = counts.max() / counts.sum()
    if share > (MOST_EQUAL if element in TEMPERATURES else 0.999_9):
        yield Problem(
            "varies", element, f"{share:.0%} of the values are {found[counts.argmax()]:g}"
        )


def _other_unit(month: Month, element: str) -> Iterator[Problem]:
    """Yield a problem if rain seems to be in inches, or temperatures do not fit the season."""
    import numpy as np

    city = [code for code in CITY_COUNTIES if code in month.counties]
    if element == "prcp":
        wet, share = _rain(month.values[element])
        if share >= OFTEN_WET and wet < LEAST_RAIN:
            text = f"{wet:.2f} mm per wet day, expected at least {LEAST_RAIN} (are these inches?)"
            yield Problem("unit", element, text)
    elif city:
        mean = float(np.nanmean(month.of(element, city)))
        expected = 12.5 - 12 * math.cos((month.number - 1) / 12 * 2 * math.pi)
        expected += {"tmin": -5, "tmax": 5}.get(element, 0)
        if abs(mean - expected) > SEASON_DEGREES:
            text = (
                f"a mean of {mean:.1f} °C in the city, expected {expected:.0f} ± 10 (Fahrenheit?)"
            )
            yield Problem("unit", element, text)


def _other_county(month: Month, element: str) -> Iterator[Problem]:
    """Yield each county of the city that differs from the others, its neighbors."""
    import numpy as np

    city = [code for code in CITY_COUNTIES if code in month.counties]
    means = np.nanmean(month.of(element, city), axis=1) if len(city) > 2 else np.array([])
    for code, mean in zip(city, means, strict=False):
        middle = float(np.median(means))
        apart = abs(mean - middle) > CITY_DEGREES
        if element == "prcp":
            apart = middle >= 1 and not middle / CITY_FACTOR <= mean <= middle * CITY_FACTOR
        if apart:
            text = (
                f"a mean of {mean:.1f} in {code} ({month.counties[code]}), {middle:.1f} in the city"
            )
            yield Problem("county_values", element, text)


def _jump(month: Month, before: Month, element: str) -> Iterator[Problem]:
    """Yield the problems of values that differ too much between the two months."""
    import numpy as np

    now, then = month.values[element], before.values[element]
    if element != "prcp":
        mean, earlier = float(np.nanmean(now)), float(np.nanmean(then))
        if abs(mean - earlier) > MONTH_DEGREES:
            text = f"a mean of {mean:.1f} °C, but {earlier:.1f} in {before.name}"
            yield Problem("month_before", element, text)
        return
    (wet, share), (wet_then, share_then) = _rain(now), _rain(then)
    is_same_weather = share >= share_then / 2 and share_then >= share / 2 and share > 0
    if is_same_weather and not wet_then / MONTH_FACTOR <= wet <= wet_then * MONTH_FACTOR:
        text = f"{wet:.2f} mm per wet day, but {wet_then:.2f} in {before.name}"
        yield Problem("month_before", element, text)
    if (highest := float(np.nanmax(now))) > max(EXTREME_RAIN, 5 * float(np.nanmax(then))):
        text = f"{highest:g} mm on a day, but at most {np.nanmax(then):g} in {before.name}"
        yield Problem("month_before", element, text)


def _repeated(month: Month, before: Month, element: str) -> Iterator[Problem]:
    """Yield a problem if the values seem to be a copy of the month before."""
    import numpy as np

    codes = [code for code in month.counties if code in before.counties]
    if not codes or element == "prcp":
        return
    now, then = month.of(element, codes), before.of(element, codes)
    share = float((now == then).sum() / np.isfinite(now).sum())
    if share > MOST_REPEATED:
        yield Problem("month_before", element, f"{share:.0%} of the values equal {before.name}")


def _exchanged(month: Month, before: Month, element: str) -> Iterator[Problem]:
    """Yield pairs of counties whose values only fit their peers after an exchange."""
    import numpy as np

    codes = [code for code in month.counties if code in before.counties]
    if len(codes) < 20:
        return
    alike = "tavg" if "tavg" in before.values else element
    peers = _peers(np.nan_to_num(before.of(alike, codes)))
    now = np.nan_to_num(month.of(element, codes))
    typical = now[peers].mean(axis=1)
    spread = np.sqrt(((now[peers] - typical[:, None]) ** 2).mean(axis=(1, 2))) + LEAST_SPREAD
    factor = _distance(now, typical) / spread
    suspects = np.argsort(-factor)[:MOST_SUSPECTS]
    suspects = suspects[factor[suspects] > EXCHANGED]
    for position, one in enumerate(suspects):
        for other in suspects[position + 1 :]:
            pair = [one, other]
            swapped = _distance(now[[other, one]], typical[pair]) / spread[pair]
            if (swapped < EXCHANGED / 2).all() and (swapped < factor[pair] / 3).all():
                names = " and ".join(f"{codes[i]} ({month.counties[codes[i]]})" for i in pair)
                yield Problem("county_values", element, f"{names} have each other's values")


def _renamed(month: Month, before: Month) -> Iterator[Problem]:
    """Yield the counties whose code had another name in the month before."""
    for code, name in month.counties.items():
        if before.counties.get(code, name) != name:
            text = f"{code} is {name!r}, but {before.counties[code]!r} in {before.name}"
            yield Problem("county_names", "county_name", text)


def _rain(values: Array) -> tuple[float, float]:
    """Return the mean rain of the days with rain, and their share."""
    import numpy as np

    known = values[np.isfinite(values)]
    wet = known[known > 0]
    return (float(wet.mean()) if len(wet) else 0.0), len(wet) / len(known)


def _peers(values: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the indexes of the counties with the most similar days, for each county."""
    import numpy as np

    squares = (values * values).sum(axis=1)
    distances = squares[:, None] + squares[None] - 2 * values @ values.T
    np.fill_diagonal(distances, np.inf)
    return np.argpartition(distances, PEERS, axis=1)[:, :PEERS]


def _distance(one: Array, other: Array) -> Array:
    """Return the root mean square of the differences of each row."""
    import numpy as np

    found: Array = np.sqrt(((one - other) ** 2).mean(axis=1))
    return found


_OF_MONTH: tuple[Callable[[Month, str], Iterator[Problem]], ...] = (
    _one_value,
    _other_unit,
    _other_county,
)
_OF_TWO: tuple[Callable[[Month, Month, str], Iterator[Problem]], ...] = (
    _jump,
    _repeated,
    _exchanged,
)
