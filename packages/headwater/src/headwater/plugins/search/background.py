"""Build the index of searches and the rows of lists in the background, for fast first queries.

A thread works in short steps, on the rows only until they are complete once. A query that arrives
earlier does the rest itself. The thread reads no SQL texts for the index: each search reads some.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

from headwater import deadline
from headwater.errors import DeadlineError
from headwater.nodes.listed import rows_of
from headwater.plugins.search._index import current_index
from headwater.projection import State
from headwater.projection.live import Live
from headwater.settings import Settings
from headwater.worker import ThreadedWorker

log = logging.getLogger(__name__)

_FIRST_SECONDS = 5.0  # after the start, when many clients return
_STEP_SECONDS = 0.05
"""Maximum time of a step. Queries wait for the state meanwhile."""
_MOST_ROW_STEPS = 2_000  # also a limit if a step is too short for the update after an event
_POLL_SECONDS = 5.0
_RETRY_SECONDS = 60.0


class Indexer(ThreadedWorker):
    """A background worker that keeps the index and the rows of the present state complete."""

    def __init__(self, live: Live) -> None:
        super().__init__("headwater-search")
        self._live = live
        self._row_steps = _MOST_ROW_STEPS  # left; then, each list updates the few changed rows

    def run(self) -> None:
        """Update the index until stopped; half of the time is left to queries."""
        pause = _FIRST_SECONDS
        while not self._stopping.wait(pause):
            began = time.perf_counter()
            try:
                pause = time.perf_counter() - began if self.step() else _POLL_SECONDS
            except Exception:
                log.exception(
                    "the index and the rows were not updated; searches and lists update them"
                )
                pause = _RETRY_SECONDS

    def step(self) -> bool:
        """Do the next part of the work; return False if nothing is left."""
        with self._live.reading() as state:
            # In a context of its own, because its deadline must not limit the wait for the state.
            is_done = copy_context().run(_advance, state, with_rows=self._row_steps > 0)
            self._row_steps = 0 if is_done else max(self._row_steps - 1, 0)
            return not is_done


def _advance(state: State, *, with_rows: bool) -> bool:
    """Continue with the index, and if requested the rows; return True at the end.

    The deadline of a step also ends it between nodes; the next step continues. SQL texts are not
    read, because that has a worker of its own.
    """
    deadline.start(_STEP_SECONDS)
    with suppress(DeadlineError):
        if (index := current_index(state)) is not None:
            index.update(reads_sql=False)
            index.words()
        if with_rows:
            rows = rows_of(state)
            for type_ in ("job", "dataset"):
                rows.groups(type_)
        return True
    return False


def workers(settings: Settings) -> Callable[[Live], list[Indexer]]:
    """Return a function that creates the worker."""
    del settings
    return lambda live: [Indexer(live)]
