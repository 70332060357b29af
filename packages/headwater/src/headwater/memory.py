"""Limit the memory of answers: of those that queries build, and of responses not yet sent.

A query charges its account for what it builds, by estimates of what Python needs. The process can
need more memory than the limit. A finished response counts with its size until it is sent. The
first bytes of each account are free, so small answers do not fail when large ones use the memory.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from contextvars import ContextVar
from functools import cache

from headwater.errors import BusyError, ConfigError

SMALL = 64 * 1024
"""First bytes of each account, which do not count."""

_STEP = 64 * 1024  # bytes after which an account asks for more, so that charges cost little
_NODE = 1_024
_LARGE = 8 * 1024**2
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # parameters of mallopt
_LARGE_BLOCK = 1024 * 1024


class Budget:
    """The bytes that all answers may use at the same time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._lock = threading.Lock()

    def reserve(self, more: int, own: int) -> None:
        """Reserve more bytes, or free some if negative, for an account that has `own`.

        Raises:
            BusyError: the answers to other queries use the memory.
            ConfigError: the answer alone needs more than the limit.
        """
        with self._lock:
            if more <= 0 or self.used + more <= self.most:
                self.used += more
                return
        if own + more > self.most:
            raise ConfigError(
                f"the answer needs more than {self.most >> 20} MB of memory: request fewer steps"
                " (depth) or items (limit), or raise HEADWATER_ANSWER_MEMORY"
            )
        raise BusyError(
            "the answers to other queries use all of HEADWATER_ANSWER_MEMORY: retry later, or"
            " raise it"
        )


class Account:
    """The bytes of one answer; only one thread at a time uses it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._charged = self._reserved = 0
        self._is_response = False

    def charge(self, size: int) -> None:
        """Add bytes, as estimated by the caller.

        At least 64 KiB are reserved at a time; the first 64 KiB need no reservation. Raises
        BusyError and ConfigError as `Budget.reserve`.
        """
        self._charged += size
        counted = self._charged - SMALL
        if counted > self._reserved:
            more = max(counted - self._reserved, _STEP)
            self._budget.reserve(more, self._reserved)
            self._reserved += more

    def hold(self, response: object, size: int) -> None:
        """Keep only the bytes of a response, until it is dropped.

        `response` is the object that holds them: when it is garbage, the rest is freed. From then
        on, `close` frees nothing.
        """
        self._is_response = True
        self._reset(max(size - SMALL, 0))
        weakref.finalize(response, self._reset, 0)

    def close(self) -> None:
        """Free the bytes at the end of a query, except those that a response holds."""
        if not self._is_response:
            self._reset(0)
        if self._charged > _LARGE:
            trim()
        self._charged = 0

    def _reset(self, size: int) -> None:
        """Reserve exactly some bytes, and free the others."""
        self._budget.reserve(size - self._reserved, 0)
        self._reserved = size


_ACCOUNT: ContextVar[Account | None] = ContextVar("_ACCOUNT", default=None)


def open_account(budget: Budget) -> Account:
    """Open an account for the query of this context."""
    account = Account(budget)
    _ACCOUNT.set(account)
    return account


def charge(size: int = _NODE) -> None:
    """Charge the query of this context, if it has an account, for bytes; by default for a node.

    Raises:
        BusyError: the answers to other queries use the memory.
        ConfigError: the answer alone needs more than the limit.
    """
    account = _ACCOUNT.get()
    if account is not None:
        account.charge(size)


def hold(response: object, size: int) -> None:
    """Let a response hold its bytes until it is dropped.

    `size` is that of the finished response in bytes.
    """
    account = _ACCOUNT.get()
    if account is not None:
        account.hold(response, size)


@cache
def _allocator() -> ctypes.CDLL | None:
    """Return the C library if it is glibc, which does not return freed memory by itself."""
    try:
        library = ctypes.CDLL(None)
        return library if hasattr(library, "malloc_trim") else None
    except (OSError, TypeError):  # Windows
        return None


def return_large_blocks() -> None:
    """Let glibc return large blocks to the operating system as soon as they are freed.

    By default, glibc keeps up to 32 MiB, and copies large blocks that grow. Each thread would keep
    blocks of its own.
    """
    if (library := _allocator()) is not None:
        library.mallopt(_ARENA_MAX, 1)
        library.mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)


def trim() -> None:
    """Return freed memory to the operating system, after a large block or answer."""
    if (library := _allocator()) is not None:
        library.malloc_trim(0)
