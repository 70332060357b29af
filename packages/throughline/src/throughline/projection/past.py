"""The state as it was: what had happened by a moment, and what was known at one.

Two times are kept of each event: its own (`as_of`) and that of its arrival (`known_at`). A state of
the past is projected from the events up to both, which is the very state that a server with no
other events would have, or from a snapshot that holds no others and what came after it. The last
few are kept, and take in what comes late of their time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from throughline import deadline
from throughline.errors import EventError
from throughline.log import EventLog, read_logged
from throughline.projection.apply import apply
from throughline.projection.snapshot import restored, uncollected
from throughline.projection.state import State
from throughline.spec import Logged

_KEPT = 4


@dataclass(frozen=True, slots=True)
class Moment:
    """Up to when events count, in microseconds, by their own time and by their arrival."""

    as_of: int | None = None
    known_at: int | None = None


def _readable(entries: Iterable[tuple[int, str, str]]) -> Iterator[Logged]:
    for _, kind, body in entries:
        deadline.check()
        with suppress(EventError):  # taken by an older throughline that asked for less
            yield read_logged(kind, body)


class Past:
    """States of the past of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._states: OrderedDict[Moment, tuple[State, int]] = OrderedDict()

    def at(self, moment: Moment, newest: int) -> State:
        """The state at a moment, of a log that ends with the `seq` `newest`."""
        state, seen = self._states.get(moment) or restored(self._log, moment.as_of, moment.known_at)
        state.is_past = True
        if seen < newest:
            entries = self._log.entries(seen, as_of=moment.as_of, known_at=moment.known_at)
            with uncollected():
                for event in _readable(entries):
                    apply(state, event)
        self._states[moment] = state, newest
        self._states.move_to_end(moment)
        while len(self._states) > _KEPT:
            self._states.popitem(last=False)
        return state
