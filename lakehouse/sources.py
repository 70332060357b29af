"""Where files come from: one declaration per source, and the months it may hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from lakehouse.errors import SettingsError
from lakehouse.settings import Settings

WEATHER_ELEMENTS = ("prcp", "tavg", "tmin", "tmax")


@dataclass(frozen=True)
class SourceFile:
    """One file of a source: where it is published, and the month it is of."""

    url: str
    month: str

    @property
    def filename(self) -> str:
        """The name under which it lands."""
        return self.url.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Source:
    """A source of monthly files that are loaded into ``<table>_staging`` and ``<table>_raw``."""

    name: str
    table: str

    def files(self, settings: Settings, month: str) -> list[SourceFile]:
        """The files that make up one month (YYYY-MM)."""
        if self.name == "weather":
            digits = month.replace("-", "")
            base = f"{settings.weather_url}/averages/{month[:4]}"
            return [
                SourceFile(f"{base}/{element}-{digits}-cty-scaled.csv", month)
                for element in WEATHER_ELEMENTS
            ]
        base = f"{settings.taxi_url}/trip-data"
        return [SourceFile(f"{base}/{self.name}_tripdata_{month}.parquet", month)]


YELLOW = Source("yellow", "yellow_taxi")
WEATHER = Source("weather", "weather")


def parse_months(text: str | Sequence[str]) -> list[str]:
    """``2019-03,2019-04`` as a sorted list without repetitions.

    Raises:
        SettingsError: something is not YYYY-MM.
    """
    parts = text.split(",") if isinstance(text, str) else list(text)
    months = sorted({part.strip() for part in parts if part.strip()})
    for month in months:
        if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month):
            raise SettingsError(
                f"{month!r} is not a month; write YYYY-MM, several as 2019-03,2019-04."
            )
    return months


def months_before(day: date, count: int) -> list[str]:
    """The last `count` months up to the one of `day`, oldest first."""
    last = day.year * 12 + day.month - 1
    return [f"{n // 12:04d}-{n % 12 + 1:02d}" for n in range(last - count + 1, last + 1)]
