"""Answer queries about one node as of a past time.

- whole state: all events of the log until a time, which takes long to build
- partial state: only the events of the log that a query needs; it records which keys the query
  misses, and these are loaded before the query is repeated, until none is missing
  (`headwater.partial`)
- index: which events contribute to which record, by keys (`keys`, `store`)
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, proxy

from headwater import deadline
from headwater.errors import BusyError, DeadlineError, LogError
from headwater.partial import WholeStateError
from headwater.plugins.past.loader import Loader
from headwater.plugins.past.store import Index
from headwater.projection import State
from headwater.projection.live import Live
from headwater.projection.past import Moment
from headwater.projection.snapshots.state import gc_paused

QUERIES = frozenset(
    ("tree", "graph", "columns", "impact", "path", "provenance", "node", "history", "why", "column")
)
"""The queries about one node, or about the way between two."""
_OF_TWO_MOMENTS = ("diff",)
"""The queries that compare parts of two states."""

_LEAST_EVENTS = 2_000
"""Events of a log from which parts of a state are loaded; fewer are read in a second."""
_MOST_SHARE = 0.1
"""The share of the events of a log that a partial state may have; with more, the whole is built."""
_MOST_EVENTS = 5_000
"""Events of a partial state: loading them takes about two seconds."""
_MOST_NEW = 500
"""Events that a query adds to the index; the background worker adds more."""
_MOST_STATES = 8
_MOST_WHOLE = 2
"""Number of recent times for which a query needed the whole state, which `Past` keeps."""
_MOST_ROUNDS = 100

Answer = Callable[[State], Any]


class PartialPast:
    """Partial states of the past of one log; the last few are kept."""

    def __init__(
        self,
        live: Live,
        least: int = _LEAST_EVENTS,
        share: float = _MOST_SHARE,
        whole: int = _MOST_WHOLE,
    ) -> None:
        self.lock = threading.RLock()
        self.index = Index(live.log)
        self._live = proxy(live)  # which may be forgotten, with these states
        self._least, self._share, self._most_whole = least, share, whole
        self._loaders: OrderedDict[int, tuple[Loader, int]] = OrderedDict()
        self._whole: list[int] = []

    def answer(self, as_of: int, answer: Answer) -> Any:
        """Return the answer of a query as of a time; None if it needs the whole state.

        `as_of` is in microseconds. A time that needed the whole state is not tried again soon.
        """
        if as_of in self._whole:
            return None
        try:
            with gc_paused():
                loader = self._loader(as_of)
                return None if loader is None else self._complete(loader, as_of, answer)
        except WholeStateError:
            self._whole = [as_of, *self._whole][: self._most_whole]
            return None

    def _loader(self, as_of: int) -> Loader | None:
        """Return the loader of a time; None if the index is not complete or the log is small.

        Raises:
            WholeStateError: the events that every answer needs are too many.
        """
        if self._live.newest < self._least:
            return None
        position = self.index.position()
        if self._live.newest - position > _MOST_NEW:
            if position == 0:
                self._begin()
            return None
        while position < self._live.newest:
            try:
                self.index.advance(_MOST_NEW)
            except LogError:  # such as a full disk; the log can still be read
                return None
            position = self.index.position()
        # `until`: the newest event at its last use; one that came since may be from before `as_of`
        loader, until = self._loaders.pop(as_of, (None, 0))
        if loader is None or self.index.has_later(until, as_of):
            most = min(int(position * self._share), _MOST_EVENTS)
            loader = Loader(self.index, as_of, most)
        self._loaders[as_of] = loader, position
        while len(self._loaders) > _MOST_STATES:
            self._loaders.popitem(last=False)
        return loader

    def _begin(self) -> None:
        """Start the index; the background worker completes it."""
        with suppress(LogError):  # such as a full disk, or a server without write access
            self.index.advance(1)

    def _complete(self, loader: Loader, as_of: int, answer: Answer) -> Any:
        """Repeat the query until its answer misses no records."""
        with self._live.reading() as present:  # its settings apply to the past too
            loader.state.horizon = present.horizon
            lost_after = present.now - present.stale_before
        loader.state.now, loader.state.stale_before = as_of, as_of - lost_after
        loaded = loader.loaded
        for _ in range(_MOST_ROUNDS):
            loaded.is_reading = True
            try:
                found = answer(loader.state)
                if not loaded.missing:
                    return found
            except (DeadlineError, BusyError):
                raise
            except Exception:  # a state that lacks records can cause any, also WholeStateError
                if not loaded.missing:
                    raise
            finally:
                loaded.is_reading = False
            self._load(loader, as_of)
        raise WholeStateError

    def _load(self, loader: Loader, as_of: int) -> None:
        """Load what the last answer missed."""
        try:
            loader.load(loader.loaded.missing)
        except BaseException:  # also a deadline
            del self._loaders[as_of]  # it lacks events of keys that count as loaded
            raise


_PASTS: WeakKeyDictionary[Live, PartialPast] = WeakKeyDictionary()


def past_of(live: Live) -> PartialPast:
    """Return the partial states of a log."""
    return _PASTS.get(live) or _PASTS.setdefault(live, PartialPast(live))


def answer_at(live: Any, name: str, moment: Moment, answer: Answer) -> Any:
    """Return the answer of a query at a moment; None if the whole state must answer it."""
    is_suitable = (
        name in (*QUERIES, *_OF_TWO_MOMENTS) and isinstance(live, Live) and moment.known_at is None
    )
    if not is_suitable or moment.as_of is None or moment.as_of < live.log.pruned_until():
        return None
    past = past_of(live)
    with deadline.acquired(past.lock):
        return past.answer(moment.as_of, answer)
