"""Keep the index of the past complete in the background."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from headwater.errors import LogError
from headwater.plugins.past.store import Index
from headwater.projection.live import Live
from headwater.settings import Settings
from headwater.worker import ThreadedWorker

log = logging.getLogger(__name__)

_EVENTS = 100
"""Events of a step, which takes about 0.05 s."""
_REST = 3
"""The pause after a step, in multiples of its time."""
_POLL_SECONDS = 5.0
_RETRY_SECONDS = 60.0


class Indexer(ThreadedWorker):
    """A background worker that adds new events to the index of the past."""

    def __init__(self, live: Live) -> None:
        super().__init__("headwater-past")
        self._index = Index(live.log)

    def run(self) -> None:
        """Add events until stopped."""
        pause = _POLL_SECONDS
        while not self._stopping.wait(pause):
            try:
                pause = self.step()
            except LogError as error:  # the database may respond again
                log.warning("the index of the past was not updated: %s", error)
                pause = _RETRY_SECONDS
            except Exception:
                log.exception("the index of the past was not updated; queries read the whole log")
                pause = _RETRY_SECONDS

    def step(self) -> float:
        """Add a batch of events if the index was started; return the pause in seconds.

        The first query of a past state starts it. Without such a query, its cost has no benefit.
        """
        began = time.perf_counter()
        if self._index.position() == 0 or self._index.advance(_EVENTS) < _EVENTS:
            return _POLL_SECONDS
        return (time.perf_counter() - began) * _REST


def workers(settings: Settings) -> Callable[[Live], list[Indexer]]:
    """Return a function that creates the worker."""
    del settings
    return lambda live: [Indexer(live)]
