"""Times of events keep their moment through every form."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.events import from_micros, parse_time, shown_time, to_micros

_ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=_ZONES
)
_LEAST = to_micros(datetime.min.replace(tzinfo=UTC))
_MOST = to_micros(datetime.max.replace(tzinfo=UTC))
_MICROS = st.integers(_LEAST, _MOST)


@given(moment=_MOMENTS, region=st.sampled_from(["", "[Europe/Paris]", "[UTC]"]))
def test_time_with_a_zone_keeps_its_moment(moment: datetime, region: str) -> None:
    parsed = parse_time(f" {moment.isoformat()}{region} ")
    assert parsed == moment
    assert parsed.tzinfo is UTC


@given(micros=_MICROS)
def test_microseconds_survive_every_conversion(micros: int) -> None:
    assert to_micros(from_micros(micros)) == micros
    assert to_micros(parse_time(shown_time(micros))) == micros


@given(micros=_MICROS)
def test_displayed_time_has_no_unneeded_digits(micros: int) -> None:
    result = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?Z", shown_time(micros))
    assert result is not None
    digits = 0 if not micros % 1_000_000 else 3 if not micros % 1_000 else 6
    assert len(result[1] or "") == digits


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (_LEAST - 1, "0001-01-01T00:00:00Z"),
        (-(2**63), "0001-01-01T00:00:00Z"),
        (_MOST + 1, "9999-12-31T23:59:59.999999Z"),
        (2**63 - 1, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_impossible_time_is_shown_as_the_nearest_one(micros: int, shown: str) -> None:
    assert shown_time(micros) == shown
    assert shown_time(to_micros(from_micros(micros))) == shown


def test_missing_time_stays_missing() -> None:
    assert shown_time(None) is None


@pytest.mark.parametrize("text", ["", "soon", "2025-13-01T00:00:00Z", "2025-11-21T25:00:00"])
def test_invalid_time_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_time(text)
