"""Declarations of the data sources, and functions for lists of months."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import attrgetter
from typing import BinaryIO

from lakehouse.errors import SettingsError
from lakehouse.settings import Settings
from lakehouse.weather_file import ELEMENT_RANGES, check_weather_file

WEATHER_ELEMENTS = tuple(ELEMENT_RANGES)

CheckFile = Callable[[str, BinaryIO], object]
"""A check that gets a file's path or URL and its content, and may raise BadSourceFile."""


@dataclass(frozen=True)
class SourceFile:
    """One file of a source: its URL and its month."""

    url: str
    month: str
    preliminary: SourceFile | None = None
    """The file that is published in its place until it is final."""
    check: CheckFile | None = field(default=None, compare=False)
    """The check that the file must pass before it lands."""

    @property
    def filename(self) -> str:
        """The name of the file in the landing folder."""
        return self.url.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Source:
    """A source of monthly files that are loaded into ``<table>_staging`` and ``<table>_raw``.

    `paths` and `partition_name` are templates with {year} and {month}: the paths of a month's
    files below the base URL, and the name of the partition with their rows.
    """

    name: str
    table: str
    base_url: Callable[[Settings], str]
    paths: tuple[str, ...]
    partition_name: str
    preliminary: tuple[str, str] | None = None
    """The suffix of a path, and its replacement while the file is preliminary."""
    check: CheckFile | None = None
    """The check that each file must pass before it lands."""
    has_quarantine: bool = False
    """Rows with impossible values go to ``<table>_quarantine``."""

    def files(self, settings: Settings, month: str) -> list[SourceFile]:
        """Return the files of a month (YYYY-MM)."""
        base = self.base_url(settings)
        return [self._file(f"{base}/{_filled(path, month)}", month) for path in self.paths]

    def _file(self, url: str, month: str) -> SourceFile:
        if self.preliminary is None:
            return SourceFile(url, month, check=self.check)
        final, preliminary = self.preliminary
        early = SourceFile(url.removesuffix(final) + preliminary, month, check=self.check)
        return SourceFile(url, month, early, self.check)

    def partition_of(self, month: str) -> str:
        """Return the name of the partition for a month's files."""
        return _filled(self.partition_name, month)


def _filled(template: str, month: str) -> str:
    year, digits = month.split("-")
    return template.format(year=year, month=digits)


def taxi(service: str) -> Source:
    """Return the source of TLC's trips for a service (yellow, green)."""
    file = f"{service}_tripdata_{{year}}-{{month}}.parquet"
    base = attrgetter("taxi_url")
    path = f"trip-data/{file}"
    return Source(service, f"{service}_taxi", base, (path,), file, has_quarantine=True)


YELLOW = taxi("yellow")
GREEN = taxi("green")
WEATHER = Source(
    "weather",
    "weather",
    attrgetter("weather_url"),
    tuple(f"averages/{{year}}/{e}-{{year}}{{month}}-cty-scaled.csv" for e in WEATHER_ELEMENTS),
    "{year}{month}-cty.csv",
    ("-scaled.csv", "-prelim.csv"),
    check_weather_file,
)


def parse_months(text: str | Sequence[str]) -> list[str]:
    """Parse ``2019-03,2019-04`` into a sorted list without duplicates.

    Raises:
        SettingsError: a value is not YYYY-MM, or a month that has not begun.
    """
    parts = text.split(",") if isinstance(text, str) else list(text)
    months = sorted({part.strip() for part in parts if part.strip()})
    for month in months:
        if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month):
            raise SettingsError(
                f"{month!r} is not a month. Use YYYY-MM, and separate several with commas."
            )
    if months and months[-1] > (today := f"{date.today():%Y-%m}"):
        raise SettingsError(f"{months[-1]} has not begun. The latest allowed month is {today}.")
    return months


def months_before(day: date, count: int) -> list[str]:
    """Return the last `count` months up to the month of `day`, oldest first."""
    last = day.year * 12 + day.month - 1
    return [f"{n // 12:04d}-{n % 12 + 1:02d}" for n in range(last - count + 1, last + 1)]
