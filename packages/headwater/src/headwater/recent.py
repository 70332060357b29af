"""Recent changes, so that a layer updates only the values that changed since it last read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key")

_MOST_CHANGES = 10_000  # beyond it, recomputing everything is cheaper


@dataclass(slots=True)
class Changes(Generic[Key]):
    """Keys that recent events changed, by the revision of the state.

    Several layers read them, each from its own last revision.

    `newest_last` has the revision of each key's last change, and changes up to `complete_since` may
    be missing.
    """

    newest_last: dict[Key, int] = field(default_factory=dict)
    complete_since: int = 0

    def add(self, key: Key, revision: int) -> None:
        """Record that the event of a revision changed a key."""
        self.newest_last.pop(key, None)
        self.newest_last[key] = revision
        if len(self.newest_last) > _MOST_CHANGES:
            oldest = next(iter(self.newest_last))
            self.complete_since = self.newest_last.pop(oldest)

    def since(self, revision: int) -> list[Key] | None:
        """Return the keys changed after a revision, newest first; None if it is too old."""
        return list(self._since(revision)) if revision >= self.complete_since else None

    def _since(self, revision: int) -> Iterator[Key]:
        for key, changed in reversed(self.newest_last.items()):
            if changed <= revision:
                break
            yield key
