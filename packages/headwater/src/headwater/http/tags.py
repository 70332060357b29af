"""ETags of recent responses, to recognize unchanged responses without computing them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from headwater.projection.live import Live

_MOST_TAGS = 1_000
_MINUTE = 60  # seconds; as long as the states of nodes are kept
Key = tuple[object, ...]


class Version(NamedTuple):
    """The inputs of a response apart from its request: the log and the minute."""

    newest: int
    counts: tuple[int, ...]
    """The size of the projection, which changes when old events are deleted."""
    minute: int


class KnownTags:
    """ETags of the latest responses. Each is valid until the next event or the next minute.

    A key is the path, the parameters and the permissions of a request. The oldest of 1,000 is
    dropped.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._tags: OrderedDict[Key, tuple[Version, str]] = OrderedDict()

    def version(self, live: Live) -> Version:
        """Return the current version. Call this before a response is computed, not after."""
        return Version(live.newest, tuple(live.counts), int(self._clock() // _MINUTE))

    def get(self, key: Key, version: Version) -> str | None:
        """Return the tag of the response to a request; None if it may have changed."""
        found = self._tags.get(key)
        return found[1] if found is not None and found[0] == version else None

    def put(self, key: Key, version: Version, tag: str) -> None:
        """Keep the tag of a response."""
        self._tags[key] = version, tag
        self._tags.move_to_end(key)
        if len(self._tags) > _MOST_TAGS:
            self._tags.popitem(last=False)
