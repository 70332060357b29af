"""Counts of requests and of the states of nodes, for `/metrics`."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from itertools import accumulate

from headwater.errors import BusyError, DeadlineError
from headwater.health.models import HealthState
from headwater.health.states import counts_of_states
from headwater.projection.live import Live

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds in seconds of the groups of request times; the last group has none."""

_PAUSE = 20
"""Minimum pause after a count of the states of nodes, as a multiple of its duration."""


class RequestCounts:
    """Response times by (method, route, status), and the number of rejected events.

    Only the thread of the event loop changes it.
    """

    def __init__(self) -> None:
        self.rejected_events = 0
        self._groups: dict[tuple[str, str, str], tuple[list[int], list[float]]] = {}

    def add(self, labels: tuple[str, str, str], seconds: float) -> None:
        """Count a request."""
        new = [0] * (len(_BOUNDS) + 1), [0.0]
        numbers, total = self._groups.setdefault(labels, new)
        numbers[bisect_left(_BOUNDS, seconds)] += 1
        total[0] += seconds

    def histograms(self) -> list[tuple[tuple[str, str, str], list[tuple[str, float]], float]]:
        """Return labels, cumulative counts by upper bound, and the sum of seconds.

        Counts are cumulative, as Prometheus expects: each includes those of the smaller bounds.
        """
        bounds = [*map(str, _BOUNDS), "+Inf"]
        return [
            (labels, list(zip(bounds, accumulate(numbers), strict=True)), total[0])
            for labels, (numbers, total) in list(self._groups.items())  # the event loop adds some
        ]


class NodeStates:
    """The number of nodes by type and state.

    Counting takes at most a twentieth of the time, so the counts of a large store may be some
    minutes old.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: Counter[tuple[str, HealthState]] | None = None
        self._due = 0.0
        self._lock = threading.Lock()

    def counts(self, live: Live) -> Counter[tuple[str, HealthState]] | None:
        """Return the counts; earlier counts or None if the server is too busy to count.

        One thread counts at a time. Others get the last counts at once instead of waiting.
        """
        if self._clock() >= self._due and self._lock.acquire(blocking=False):
            started = self._clock()
            try:
                with live.reading() as state:
                    self._counts = counts_of_states(state)
            except (BusyError, DeadlineError):
                pass
            finally:
                self._due = self._clock() + _PAUSE * (self._clock() - started)
                self._lock.release()
        return self._counts
