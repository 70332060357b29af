"""Event times: anything ISO 8601 in, microseconds since the epoch inside, Marquez's form out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_START = datetime(1970, 1, 1)  # the same without its zone
_MICRO = timedelta(microseconds=1)
_FIRST = (datetime.min - _START) // _MICRO
_LAST = (datetime.max - _START) // _MICRO
# Java's ZonedDateTime prints the region after the offset: 2020-12-28T09:52:00+01:00[Europe/Paris]
_REGION = re.compile(r"\[[^\]]*\]$")


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; one without a zone is UTC. Raises ValueError or OverflowError."""
    moment = datetime.fromisoformat(without_region(text))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def without_region(text: str) -> str:
    """The text of a time without the name of a region after its offset."""
    return _REGION.sub("", text.strip())


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICRO


def from_micros(micros: int) -> datetime:
    """Return a moment from microseconds since 1970, within the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=min(max(micros, _FIRST), _LAST))


def shown_time(micros: int | None) -> str | None:
    """Return an instant as Marquez prints it: Z, and no fraction, milliseconds or microseconds.

    Times after the year 9999 are shown as its end.
    """
    if micros is None:
        return None
    if not _FIRST <= micros <= _LAST:
        micros = min(max(micros, _FIRST), _LAST)
    # Without a zone isoformat writes none, and it is ten times as fast as strftime.
    moment = _START + timedelta(microseconds=micros)
    if not moment.microsecond:
        return f"{moment.isoformat()}Z"
    return f"{moment.isoformat().removesuffix('000')}Z"
