"""Checks that NOAA's nClimGrid-Daily county files must pass before they are used.

A file is named ``<element>-<YYYYMM>-cty-scaled.csv`` (``-prelim`` until it is final). It has no
header and one line per county: region type, region code, name, year, month, element and 31 days.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO
from urllib.parse import urlsplit

from lakehouse.errors import BadSourceFile

ELEMENT_RANGES = {
    "prcp": (0.0, 2_000.0),
    "tavg": (-80.0, 65.0),
    "tmin": (-80.0, 65.0),
    "tmax": (-80.0, 65.0),
}
"""Range of possible values per element, in mm or degrees Celsius."""

CITY_COUNTIES = {
    "30005": "NY: Bronx County",
    "30047": "NY: Kings County",
    "30061": "NY: New York County",
    "30081": "NY: Queens County",
    "30085": "NY: Richmond County",
}
"""The counties of New York City by NCEI code; every file must contain them."""

MISSING = "-999.99"
"""The value of a day that does not exist in the month or was not observed."""
MAX_MISSING_SHARE = 0.1
"""Largest allowed share of missing values in a file."""

DAYS = range(1, 32)
HEAD = ("region type", "region code", "region name", "year", "month", "element")
FIELDS = len(HEAD) + len(DAYS)
MAX_LINE_BYTES = 2_000
MAX_LINES = 10_000
NAME = re.compile(
    r"(?P<element>[a-z]+)-(?P<year>\d{4})(?P<month>0[1-9]|1[0-2])-cty-(scaled|prelim)\.csv"
)
VALUE = re.compile(r" *-?\d{1,4}\.\d\d")


@dataclass(frozen=True)
class WeatherFile:
    """A file that passed its checks."""

    element: str
    month: str
    counties: frozenset[str]


def check_weather_file(path: str, content: BinaryIO) -> WeatherFile:
    """Return the element, the month and the counties of a file, given its path or URL.

    Raises:
        BadSourceFile: the file is not NOAA's; the message names the line, the text received and
            the text allowed.
    """
    match = NAME.fullmatch(PurePosixPath(urlsplit(path).path).name)
    if match is None or match["element"] not in ELEMENT_RANGES:
        raise _bad(
            f"{path} does not have the name of a NOAA file; expected "
            f"ELEMENT-YYYYMM-cty-scaled.csv or -prelim.csv with {', '.join(ELEMENT_RANGES)}"
        )
    head = {"year": match["year"], "month": match["month"], "element": match["element"].upper()}
    days = calendar.monthrange(int(match["year"]), int(match["month"]))[1]
    counties: dict[str, list[bool]] = {}
    for number, line in _lines(path, content):
        fields = line.split(",")
        problem = _head_problem(fields, head) or _values_problem(fields, match["element"], days)
        if not problem and fields[1] in counties:
            problem = f"received region code {fields[1]} a second time, expected it once"
        if problem:
            raise _bad(f"{path}, line {number}: {problem}")
        counties[fields[1]] = [value.strip() == MISSING for value in fields[len(HEAD) :][:days]]
    if absent := sorted(CITY_COUNTIES.keys() - counties.keys()):
        raise _bad(
            f"{path} has {len(counties):,} counties but lacks {', '.join(absent)}; "
            "expected all five counties of New York City"
        )
    _refuse_gaps(path, list(counties.values()), is_final="-scaled" in match[0])
    return WeatherFile(match["element"], f"{match['year']}-{match['month']}", frozenset(counties))


def _bad(problem: str) -> BadSourceFile:
    return BadSourceFile(
        f"{problem}. Download the original file from NOAA, then run the task again."
    )


def _lines(path: str, content: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield numbered lines, without line ends; the last line must have one too."""
    number = 0
    while line := content.readline(MAX_LINE_BYTES):
        number += 1
        shown = f"received {line[:60].decode(errors='replace')!r}"
        if number > MAX_LINES:
            raise _bad(f"{path} has more than {MAX_LINES:,} lines, the maximum")
        if not line.endswith(b"\n"):
            size = f"more than {MAX_LINE_BYTES:,}" if len(line) == MAX_LINE_BYTES else len(line)
            raise _bad(
                f"{path}, line {number}: {shown}, {size} bytes without an end of line; "
                "the file is truncated or not a table"
            )
        if not line.isascii():
            raise _bad(f"{path}, line {number}: {shown}, expected ASCII text")
        yield number, line.decode().rstrip("\r\n")
    if not number:
        raise _bad(f"{path} is empty; expected one line per county")


def _head_problem(fields: list[str], expected: dict[str, str]) -> str:
    """Return the first problem of a line's shape or of the fields before its values, if any."""
    if len(fields) != FIELDS:
        received = ",".join(fields)[:60]
        return (
            f"received {len(fields)} fields ({received!r}), expected {FIELDS} separated by commas"
        )
    values = dict(zip(HEAD, fields, strict=False))
    if values["region type"] != "cty":
        return f"received region type {values['region type']!r}, expected 'cty'"
    if not re.fullmatch(r"\d{5}", values["region code"]):
        return f"received region code {values['region code']!r}, expected five digits"
    if not re.fullmatch(r"[A-Z]{2}: .{1,80}", values["region name"]):
        return f"received region name {values['region name']!r}, expected 'STATE: NAME'"
    for name, value in expected.items():
        if values[name] != value:
            return f"received {name} {values[name]!r}, expected {value!r} as in the file's name"
    return ""


def _values_problem(fields: list[str], element: str, days: int) -> str:
    """Return the first problem of a line's values, if any."""
    low, high = ELEMENT_RANGES[element]
    for day, field in zip(DAYS, fields[len(HEAD) :], strict=True):
        value = field.strip()
        if not VALUE.fullmatch(field):
            return f"received {field!r} for day {day}, expected a number with two decimals"
        if value == MISSING:
            continue
        if day > days:
            return f"received {value} for day {day}, expected {MISSING}: the month has {days} days"
        if not low <= float(value) <= high:
            return f"received {value} for day {day}, expected {low:g} to {high:g} or {MISSING}"
    return ""


def _refuse_gaps(path: str, missing: list[list[bool]], *, is_final: bool) -> None:
    """Reject a file with too many missing values; a preliminary one may lack the last days.

    Raises:
        BadSourceFile: the share is above `MAX_MISSING_SHARE`.
    """
    by_day = [sum(day) for day in zip(*missing, strict=True)]
    while by_day and by_day[-1] == len(missing) and not is_final:
        by_day.pop()
    share = sum(by_day) / (len(by_day) * len(missing)) if by_day else 1.0
    if share > MAX_MISSING_SHARE:
        raise _bad(
            f"{path} has no value ({MISSING}) for {share:.0%} of its days; "
            f"at most {MAX_MISSING_SHARE:.0%} are allowed"
        )
