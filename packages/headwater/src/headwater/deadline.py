"""Time limits of queries: set where a query arrives, checked where it is computed.

Only computations whose partial results are discarded check the time. A result that is cached for
other queries must be complete before it is stored.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from headwater.errors import BusyError, DeadlineError

__all__ = [
    "acquired",
    "check",
    "exceeded",
    "give_up_if",
    "left",
    "popped",
    "resumable",
    "start",
    "watched",
    "within",
]

Item = TypeVar("Item")

Clock = Callable[[], float]

_POLL_SECONDS = 0.1
"""Seconds between the checks of a query that waits for a lock."""


class _End(NamedTuple):
    """A deadline: its time by a clock, and the seconds that were allowed."""

    at: float
    seconds: float
    clock: Clock

    @property
    def left(self) -> float:
        """The seconds that remain; negative after the deadline."""
        return self.at - self.clock()


_GIVES_UP: ContextVar[Callable[[], bool] | None] = ContextVar("_GIVES_UP", default=None)
_END: ContextVar[_End | None] = ContextVar("_END", default=None)


def start(seconds: float, clock: Clock | None = None) -> None:
    """Set the deadline of this context, in seconds from now by a clock, by default monotonic."""
    clock = clock or time.monotonic
    _END.set(_End(clock() + seconds, seconds, clock))


def give_up_if(is_refused: Callable[[], bool]) -> None:
    """Set a condition that ends the wait of this context for a lock with a BusyError."""
    _GIVES_UP.set(is_refused)


def left() -> float | None:
    """Return the seconds that remain, at least 0; None without a deadline.

    A wait for something else, such as a database, takes it as its time limit.
    """
    end = _END.get()
    return None if end is None else max(end.left, 0)


def check() -> None:
    """Check the deadline. Raises DeadlineError if it has passed.

    Call it, or use `watched`, in each loop over data of unknown size.
    """
    end = _END.get()
    if end is not None and end.left < 0:
        raise exceeded(
            "request fewer steps (depth), one node instead of all, or a later time, or raise"
            " HEADWATER_LONGEST_QUERY"
        )


def exceeded(advice: str) -> DeadlineError:
    """Return the error for a passed deadline; `advice` says what to do instead."""
    end = _END.get()
    limit = f"{end.seconds:g} s" if end else "allowed"
    return DeadlineError(f"the query takes longer than {limit}: {advice}")


@contextmanager
def resumable(
    what: str, otherwise: str = "request the present or the history of one node instead"
) -> Iterator[None]:
    """Raise BusyError instead of DeadlineError for a computation that the next query continues.

    `what` names the computation in the message, and `otherwise` is an alternative to repeating the
    query. Its partial result must be kept.
    """
    try:
        yield
    except DeadlineError:
        raise BusyError(
            f"{what} is not complete within the time limit of a query: repeat the query, which"
            f" continues, or {otherwise}"
        ) from None


def watched(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, and check the deadline before each of them."""
    for item in items:
        check()
        yield item


def within(seconds: float, items: Iterable[Item], *, least: int) -> Iterator[Item]:
    """Yield items until some seconds have passed, but at least `least`; all without a deadline.

    The caller must keep its partial result, so that the next call continues with the other items.
    """
    end = _END.get()
    until = None if end is None else end.clock() + seconds
    for number, item in enumerate(watched(items)):
        if end and until is not None and number >= least and end.clock() > until:
            return
        yield item


def popped(waiting: list[Item]) -> Iterator[Item]:
    """Remove and yield the last item until none is left; check the deadline before each.

    A walk adds what it finds to `waiting`.
    """
    while waiting:
        check()
        yield waiting.pop()


@contextmanager
def acquired(lock: threading.RLock) -> Iterator[None]:
    """Acquire a lock before the deadline, and hold it.

    Raises:
        BusyError: the lock is not free before the deadline, or the condition of `give_up_if` holds.
    """
    gives_up = _GIVES_UP.get()
    while not lock.acquire(
        timeout=-1 if (seconds := left()) is None else min(seconds, _POLL_SECONDS)
    ):
        if left() == 0:
            raise BusyError(
                "other queries used the whole time limit of this one: retry later, send fewer"
                " queries at once, or raise HEADWATER_LONGEST_QUERY"
            )
        if gives_up and gives_up():
            raise BusyError("many queries wait: retry later, or send fewer queries at once")
    try:
        yield
    finally:
        lock.release()
