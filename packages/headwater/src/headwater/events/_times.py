"""Event times: parse ISO 8601, store microseconds since 1970, print Marquez's format."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import overload

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_START = datetime(1970, 1, 1)  # the same without its zone
_MICRO = timedelta(microseconds=1)
_FIRST = (datetime.min - _START) // _MICRO
_LAST = (datetime.max - _START) // _MICRO
# Java's ZonedDateTime prints the region after the offset: 2020-12-28T09:52:00+01:00[Europe/Paris]
_REGION = re.compile(r"\[[^\]]*\]$")


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 time; one without a zone is UTC. Raises ValueError or OverflowError."""
    moment = datetime.fromisoformat(without_region(text))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def without_region(text: str) -> str:
    """Return the text of a time without the region name after its offset."""
    return _REGION.sub("", text.strip())


def to_micros(moment: datetime) -> int:
    """Return the microseconds since 1970."""
    return (moment - _EPOCH) // _MICRO


def from_micros(micros: int) -> datetime:
    """Convert microseconds since 1970 to a datetime, limited to the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=min(max(micros, _FIRST), _LAST))


@overload
def shown_time(micros: int) -> str: ...


@overload
def shown_time(micros: None) -> None: ...


@overload
def shown_time(micros: int | None) -> str | None: ...


def shown_time(micros: int | None) -> str | None:
    """Format a time as Marquez does: Z, and no fraction, milliseconds or microseconds.

    Times outside the years 1 to 9999 are shown as the nearest of them.
    """
    if micros is None:
        return None
    if not _FIRST <= micros <= _LAST:
        micros = min(max(micros, _FIRST), _LAST)
    # isoformat of a time without a zone is ten times as fast as strftime.
    moment = _START + timedelta(microseconds=micros)
    if not moment.microsecond:
        return f"{moment.isoformat()}Z"
    return f"{moment.isoformat().removesuffix('000')}Z"
