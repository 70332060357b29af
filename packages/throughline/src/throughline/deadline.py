"""How long a question may take: set where it is asked, looked at where it is answered.

What is thrown away when it stops half done looks at the time as it goes; what is kept for others to
read must finish, or be kept only once it is whole.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from throughline.errors import BusyError, DeadlineError

__all__ = ["check", "held", "left", "start", "watched"]

Item = TypeVar("Item")

_END: ContextVar[tuple[float, float] | None] = ContextVar("_END", default=None)


def start(seconds: float) -> None:
    """From now on, what this context asks may take so many seconds."""
    _END.set((time.monotonic() + seconds, seconds))


def left() -> float | None:
    """Return the seconds that remain, at least 0; None without a deadline."""
    end = _END.get()
    return None if end is None else max(end[0] - time.monotonic(), 0)


def check() -> None:
    """Stop if the time is over.

    Raises:
        DeadlineError: it is.
    """
    end = _END.get()
    if end is not None and time.monotonic() > end[0]:
        raise DeadlineError(
            f"this takes longer than {end[1]:g} s: ask for fewer steps (depth), for one node rather"
            " than all, or for a later moment; THROUGHLINE_LONGEST_QUERY allows more"
        )


def watched(items: Iterable[Item]) -> Iterator[Item]:
    """The items, as long as there is time."""
    for each in items:
        check()
        yield each


@contextmanager
def held(lock: threading.RLock) -> Iterator[None]:
    """Acquire a lock before the deadline, and hold it.

    Raises:
        BusyError: the lock was not free before the deadline.
    """
    remaining = left()
    if not lock.acquire(timeout=-1 if remaining is None else remaining):
        raise BusyError(
            "other queries used the whole time limit of this one: retry later or request"
            " less at once; THROUGHLINE_LONGEST_QUERY allows more time"
        )
    try:
        yield
    finally:
        lock.release()
