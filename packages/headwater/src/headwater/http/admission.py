"""Admission of queries: a few run at once, some wait, and the rest get a 503.

Queries run in threads, which compete with the event loop for the interpreter. Limiting them keeps
events, health checks, keys and streams fast, whatever the number of clients. `routes.Queried`
applies the limit to every route that reads the projection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headwater import deadline, memory
from headwater.errors import BusyError, DeadlineError


class Admission:
    """Slots for running queries, a limited queue for a slot, and the memory of their answers."""

    def __init__(self, running: int, waiting: int, memory_of_answers: int = 2**40) -> None:
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
            BusyError: the queue is full, or the time limit of the query has passed while others
                ran too, so that it may succeed later.
        """
        has_waited = self.is_full
        if has_waited and self.waiting >= self._most_waiting:
            raise BusyError(
                f"{self._running} queries run and {self.waiting} wait, which is the limit:"
                " retry later, or raise HEADWATER_WAITING_QUERIES"
            )
        self.waiting += 1
        try:
            async with asyncio.timeout(deadline.left() if has_waited else None):
                await self._slots.acquire()
        except TimeoutError:
            raise BusyError(
                f"{self._running} queries run, which is the limit, and none ended before the"
                " deadline of this one: retry later, or raise HEADWATER_LONGEST_QUERY"
            ) from None
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
