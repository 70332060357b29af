"""States at a time, for several tests."""

from __future__ import annotations

from headwater.events import parse_time, to_micros
from headwater.projection import State

DAY_SECONDS = 86_400

WEEK = tuple(f"2025-11-{day}" for day in (10, 11, 12, 13, 14))


def at(state: State, time: str) -> State:
    """Return the state at a time of the tests' day; runs are stale after a day without events."""
    state.now = to_micros(parse_time(time if "-" in time else f"2025-11-21T{time}Z"))
    state.stale_before = state.now - DAY_SECONDS * 1_000_000
    return state
