"""The state as it was: what had happened by a moment, and what was known at one.

Two times are kept of each event: its own (`as_of`) and that of its arrival (`known_at`). A state of
the past is projected from the events up to both, which is the very state that a server with no
other events would have, or from a snapshot that holds no others and what came after it. The last
few are kept, and take in what comes late of their time.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from throughline import deadline
from throughline.errors import EventError
from throughline.log import EventLog, read_logged
from throughline.projection.apply import apply
from throughline.projection.snapshot import restored, uncollected
from throughline.projection.state import State

_MOST_STATES, _MOST_RUNS = 4, 50_000


@dataclass(frozen=True, slots=True)
class Moment:
    """Up to when events count, in microseconds, by their own time and by their arrival."""

    as_of: int | None = None
    known_at: int | None = None


class Past:
    """States of the past of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._states: OrderedDict[Moment, tuple[State, int]] = OrderedDict()

    def at(self, moment: Moment, newest: int) -> State:
        """The state at a moment, of a log that ends with the `seq` `newest`."""
        state, seen = self._states.get(moment) or restored(self._log, moment.as_of, moment.known_at)
        state.is_past = True
        until = moment.as_of, moment.known_at
        unseen = self._log.entries(seen, as_of=until[0], known_at=until[1])
        try:
            with uncollected():
                for seq, kind, body in unseen if seen < newest else ():
                    deadline.check()
                    with suppress(EventError):  # `Live` reports the row
                        apply(state, read_logged(kind, body))
                    seen = seq
            seen = newest
        finally:  # who asks again goes on from where the time was up
            self._states[moment] = state, seen
            self._states.move_to_end(moment)
            self._forget_old()
        return state

    def _forget_old(self) -> None:
        """Keep the last few, and fewer of large ones: each takes as much memory as the present."""
        while len(self._states) > 1 and (
            len(self._states) > _MOST_STATES
            or sum(len(state.runs) for state, _ in self._states.values()) > _MOST_RUNS
        ):
            _, (state, _) = self._states.popitem(last=False)
            state.generations = None  # which knows the state: neither would ever go by itself
