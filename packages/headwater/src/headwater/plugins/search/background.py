"""Build the index of searches in the background, so that the first search after a start is fast.

A thread updates the index in short steps. A search that arrives earlier does the rest itself. The
thread reads no SQL texts: each search reads some of them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

from headwater import deadline
from headwater.errors import DeadlineError
from headwater.plugins.search._index import Index, current_index, index_of
from headwater.projection import State
from headwater.projection.live import Live
from headwater.settings import Settings
from headwater.worker import ThreadedWorker

log = logging.getLogger(__name__)

_FIRST_SECONDS = 5.0  # after the start, when many clients return
_STEP_SECONDS = 0.05
"""Maximum time of a step. Queries wait for the state meanwhile."""
_POLL_SECONDS = 5.0
_RETRY_SECONDS = 60.0


class Indexer(ThreadedWorker):
    """A background worker that keeps the index of the present state complete."""

    def __init__(self, live: Live) -> None:
        super().__init__("headwater-search")
        self._live = live

    def run(self) -> None:
        """Update the index until stopped; half of the time is left to queries."""
        pause = _FIRST_SECONDS
        while not self._stopping.wait(pause):
            began = time.perf_counter()
            try:
                pause = time.perf_counter() - began if self.step() else _POLL_SECONDS
            except Exception:
                log.exception("the index of searches was not updated; searches do it themselves")
                pause = _RETRY_SECONDS

    def step(self) -> bool:
        """Do the next part of the work; return False if nothing is left."""
        with self._live.reading() as state:
            # In a context of its own, because its deadline must not limit the wait for the state.
            index = copy_context().run(_advanced, state)
            return index is not None and not index.is_complete


def _advanced(state: State) -> Index | None:
    deadline.start(_STEP_SECONDS)
    with suppress(DeadlineError):
        index_of(state, reads_sql=False)
    return current_index(state)


def workers(settings: Settings) -> Callable[[Live], list[Indexer]]:
    """Return a function that creates the worker."""
    del settings
    return lambda live: [Indexer(live)]
