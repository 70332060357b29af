"""How long a question may take: set where it is asked, looked at where it is answered.

Only walks and what is thrown away when it stops half done look at the time; what changes a state
that others read must finish.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from throughline.errors import DeadlineError

__all__ = ["check", "held", "start"]

_END: ContextVar[tuple[float, float] | None] = ContextVar("_END", default=None)


def start(seconds: float) -> None:
    """From now on, what this context asks may take so many seconds."""
    _END.set((time.monotonic() + seconds, seconds))


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


@contextmanager
def held(lock: threading.RLock) -> Iterator[None]:
    """Hold a lock, which may be waited for until the time is over."""
    end = _END.get()
    while not lock.acquire(timeout=-1 if end is None else max(end[0] - time.monotonic(), 0)):
        check()
    try:
        yield
    finally:
        lock.release()
