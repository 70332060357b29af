"""A state with one reader at a time, and the changes that wait until nobody reads it.

Caches grow while a query runs, so queries of one state take turns. What an event changes meanwhile
waits in a queue. Whoever holds the state next applies the queue before anything else: the next
query, the query that just ended, or whoever added the change if nobody reads. A full queue is the
only reason for which `add` waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from throughline import deadline
from throughline.projection.state import State

Change = Callable[[State], None]
"""Applies an event, or notes that one cannot be read; must not raise."""

_MOST_EVENTS, _MOST_BYTES = 10_000, 32 * 2**20  # the next query applies them in about two seconds
_LOOK_SECONDS = 0.1


class Counts(NamedTuple):
    """The size of a state."""

    jobs: int
    runs: int
    datasets: int


class Readers:
    """A state, its readers one after the other, and a queue of changes to make in between.

    One thread at a time may call `add`.
    """

    def __init__(
        self, state: State, most_events: int = _MOST_EVENTS, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._state = state
        self._most_events, self._most_bytes = most_events, most_bytes
        self._lock = threading.RLock()
        self._depth = 0  # of `reading` within `reading`, by the thread that holds the lock
        self._queue: deque[tuple[Change, int]] = deque()
        self._added = 0  # bytes; only `add` changes it
        self._applied = 0  # bytes; only the holder of the lock changes it

    @property
    def counts(self) -> Counts:
        """The size of the state, without the changes that wait; never waits for a reader."""
        state = self._state
        return Counts(len(state.jobs), len(state.runs), len(state.datasets))

    @property
    def unreadable(self) -> Mapping[int, str]:
        """The damaged rows of the log by `seq`, with the reasons; never waits for a reader."""
        return self._state.unreadable.copy()

    def add(self, change: Change, size: int) -> None:
        """Have a change of `size` bytes made before the next reader; wait if too many wait."""
        self._queue.append((change, size))
        self._added += size
        self._settle()
        while self._is_full():
            if self._lock.acquire(timeout=_LOOK_SECONDS):
                try:
                    self._apply()
                finally:
                    self._lock.release()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """Hold the state with every change that was added; it does not change meanwhile."""
        try:
            with deadline.held(self._lock):
                if not self._depth:
                    self._apply()
                self._depth += 1
                try:
                    yield self._state
                finally:
                    self._depth -= 1
        finally:
            self._settle()

    def _settle(self) -> None:
        """Apply what waits unless somebody reads, who then does so at the end."""
        while self._queue and self._lock.acquire(blocking=False):
            try:
                if self._depth:  # by this very thread
                    return
                self._apply()
            finally:
                self._lock.release()

    def _is_full(self) -> bool:
        return (
            len(self._queue) > self._most_events or self._added - self._applied > self._most_bytes
        )

    def _apply(self) -> None:
        for _ in range(len(self._queue)):  # what comes meanwhile must not keep a reader for ever
            change, size = self._queue.popleft()
            self._applied += size
            change(self._state)
