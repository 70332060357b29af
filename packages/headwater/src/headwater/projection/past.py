"""States of the past: as of an event time, and known at an arrival time.

The log stores two times per event: its own (`as_of`) and that of its arrival (`known_at`). A state
of the past is projected from the events up to both, or from a snapshot that contains no later
events. It equals the state of a server that has no other events. The last few states are cached,
complete or not; late events are applied to them.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import NamedTuple

from headwater import deadline
from headwater.errors import EventError
from headwater.events import shown_time
from headwater.log import EventLog, read_logged
from headwater.projection._apply import apply
from headwater.projection.snapshots.state import gc_paused, restore
from headwater.projection.state import State

_LEAST_STATES, _MOST_STATES, _MOST_RUNS = 2, 4, 50_000  # a difference needs two


class Moment(NamedTuple):
    """The last event time and the last arrival time to include, in microseconds."""

    as_of: int | None = None
    known_at: int | None = None

    @property
    def earliest(self) -> int:
        """The earlier of the two times; one of them is set."""
        return min(time for time in self if time is not None)


class Past:
    """States of the past of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._states: OrderedDict[Moment, tuple[State, int]] = OrderedDict()

    def at(self, moment: Moment, newest: int) -> State:
        """Return the state at a moment, of a log whose last `seq` is `newest`. Raises BusyError.

        A cached state gets the events that arrived since, as far as the moment includes them. If
        the time limit of a query passes, the state is kept as it is, and the next query continues.
        Only one thread may use it at a time.
        """
        state, applied = self._states.get(moment) or restore(self._log, *moment)
        state.is_past = True
        missing = self._log.rows(applied, as_of=moment.as_of, known_at=moment.known_at)
        what = f"the state at {shown_time(moment.earliest)}"
        try:
            with gc_paused(), deadline.resumable(what):
                for seq, kind, _, body in missing if applied < newest else ():
                    deadline.check()
                    with suppress(EventError):  # `Live` reports the row
                        apply(state, read_logged(kind, body))
                    applied = seq
            applied = newest
        finally:
            self._states[moment] = state, applied
            self._states.move_to_end(moment)
            self._forget_old()
        return state

    def _forget_old(self) -> None:
        """Drop old states: each takes as much memory as the current one, so few large ones stay."""
        while len(self._states) > _LEAST_STATES and (
            len(self._states) > _MOST_STATES
            or sum(len(state.runs) for state, _ in self._states.values()) > _MOST_RUNS
        ):
            _, (state, _) = self._states.popitem(last=False)
            state.generations = None  # breaks a reference cycle; gc may be paused
