"""Admission of queries: a few run at once, some wait, and the rest get a 503.

Queries run in threads, which compete with the event loop for the interpreter. Limiting them keeps
events, health checks, keys and streams fast, whatever the number of clients. `routes.Queried`
applies the limit to every route that reads the projection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headwater import deadline, memory
from headwater.errors import BusyError, DeadlineError

_CROWD, _PATIENCE = 30, 1.5
"""While more queries wait, those that have waited this many seconds are rejected. A page sends
fewer queries."""
_POLL_SECONDS = 0.1


class Admission:
    """Slots for running queries, a limited queue for a slot, and the memory of their answers.

    A few queries wait until their deadline, so that a page can send several. If more than `crowd`
    queries wait, those that have waited for `patience` seconds are rejected, so that their clients
    can retry early.

    `running` and `waiting` are the numbers of queries that may run and wait at once.
    `memory_of_answers` limits the bytes of all answers together.
    """

    def __init__(
        self,
        running: int,
        waiting: int,
        memory_of_answers: int = 2**40,
        crowd: int = _CROWD,
        patience: float = _PATIENCE,
    ) -> None:
        """Create the slots; all are free."""
        self._crowd, self._patience = crowd, patience
        self.budget = memory.Budget(memory_of_answers)
        self._running, self._most_waiting = running, waiting
        self._slots = asyncio.Semaphore(running)
        self.waiting = 0
        self._taken = 0  # slots in use

    @property
    def is_full(self) -> bool:
        """True if a new query would have to wait."""
        return self._slots.locked()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[bool]:
        """Wait for a slot and hold it; yield True if the query had to wait.

        Raises:
            BusyError: the queue is full, many queries wait, or the time limit of the query has
                passed while others ran too, so that it may succeed later.

        The time limit of the query, see `deadline`, must have started. Its answer is counted until
        the `async with` block ends.
        """
        has_waited = self.is_full
        if has_waited and self.waiting >= self._most_waiting:
            raise BusyError(
                f"{self._running} queries run and {self.waiting} wait, which is the limit:"
                " retry later, or raise HEADWATER_WAITING_QUERIES"
            )
        since = time.monotonic()
        deadline.give_up_if(lambda: self._is_crowded_since(since))
        self.waiting += 1
        try:
            await self._acquire(since)
        finally:
            self.waiting -= 1
        self._taken += 1
        is_shared = has_waited or self._taken > 1
        account = memory.open_account(self.budget)
        try:
            yield has_waited
        except DeadlineError as error:
            if not is_shared and self._taken == 1:
                raise
            raise BusyError(f"other queries ran at the same time: retry later; {error}") from None
        finally:
            account.close()
            self._taken -= 1
            self._slots.release()

    def _is_crowded_since(self, since: float) -> bool:
        """Return True if many queries wait, and one that arrived then has waited long enough."""
        return self.waiting > self._crowd and time.monotonic() - since >= self._patience

    async def _acquire(self, since: float) -> None:
        """Wait for a slot.

        Raises:
            BusyError: many queries wait, or no slot was free before the deadline.

        `since` is when the query arrived. If a slot is given at the moment of an error, it is given
        back.
        """
        if not self._slots.locked():
            await self._slots.acquire()
            return
        acquiring = asyncio.ensure_future(self._slots.acquire())
        try:
            while not (await asyncio.wait({acquiring}, timeout=_POLL_SECONDS))[0]:
                if self._is_crowded_since(since):
                    raise BusyError(
                        f"{self._running} queries run, which is the limit, and {self.waiting} wait:"
                        " retry later, or send fewer queries at once"
                    )
                if deadline.left() == 0:
                    raise BusyError(
                        f"{self._running} queries run, which is the limit, and none ended before"
                        " the deadline of this one: retry later, or raise HEADWATER_LONGEST_QUERY"
                    )
        except BaseException:
            if not acquiring.cancel() and not acquiring.cancelled():
                self._slots.release()
            raise
