"""Hold a state for one reader at a time, with a queue of changes to apply between readers.

Queries fill caches, so only one query reads a state at a time. Changes made meanwhile wait in a
queue. The queue is applied at the end of a query, before the next query, or by `add` if there is no
reader. `add` waits only if the queue is full.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from headwater import deadline
from headwater.projection.state import State

Change = Callable[[State], None]
"""A function that applies an event or records a damaged row; must not raise."""

_MOST_EVENTS, _MOST_BYTES = 10_000, 32 * 2**20  # applied in about two seconds
_LOOK_SECONDS = 0.1


class Counts(NamedTuple):
    """The size of a state."""

    jobs: int
    runs: int
    datasets: int


class Readers:
    """A state, a lock for one reader at a time, and a queue of changes to apply in between.

    Only one thread at a time may call `add`.

    The limits of the queue are a number of events and their bytes.
    """

    def __init__(
        self, state: State, most_events: int = _MOST_EVENTS, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._state = state
        self._most_events, self._most_bytes = most_events, most_bytes
        self._lock = threading.RLock()
        self._depth = 0  # nested calls of `reading` by the thread that holds the lock
        self._queue: deque[tuple[Change, int]] = deque()
        self._added = 0  # bytes; only `add` changes it
        self._applied = 0  # bytes; only the holder of the lock changes it

    @property
    def counts(self) -> Counts:
        """The size of the state without queued changes; never waits for a reader."""
        state = self._state
        return Counts(len(state.jobs), len(state.runs), len(state.identity))

    @property
    def unreadable(self) -> Mapping[int, str]:
        """The damaged rows of the log by `seq`, with the reasons; never waits for a reader."""
        return self._state.unreadable.copy()

    def add(self, change: Change, size: int) -> None:
        """Queue a change of `size` bytes for the next reader; wait if the queue is full.

        It is full if a reader holds the state for so long that the limits are exceeded. The wait
        ends when that reader, which applies the queue at its end, or this thread has applied it.
        """
        self._queue.append((change, size))
        self._added += size
        self._settle()
        while self._is_full():
            if self._lock.acquire(timeout=_LOOK_SECONDS):
                try:
                    self._apply()
                finally:
                    self._lock.release()

    def replace(self, state: State) -> None:
        """Replace the state after running queries; only for a caller of `add`."""
        with self._lock:
            self._apply()
            self._state = state

    @contextmanager
    def reading(self) -> Iterator[State]:
        """Hold the state with every added change; it does not change while held.

        A thread that already holds it may nest calls. Waiting for the lock ends at the deadline of
        the query.
        """
        try:
            with deadline.acquired(self._lock):
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
        """Apply the queue unless there is a reader, which then applies it at its end.

        Repeated, because a change may be added after the queue is applied and before the lock is
        released: whoever added it could not take the lock.
        """
        while self._queue and self._lock.acquire(blocking=False):
            try:
                if self._depth:  # this thread holds the lock
                    return
                self._apply()
            finally:
                self._lock.release()

    def _is_full(self) -> bool:
        return (
            len(self._queue) > self._most_events or self._added - self._applied > self._most_bytes
        )

    def _apply(self) -> None:
        for _ in range(len(self._queue)):  # later changes must not delay a reader indefinitely
            change, size = self._queue.popleft()
            self._applied += size
            change(self._state)
