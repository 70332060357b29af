"""Read the items of an array, and stop if it clearly contains no events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from throughline.errors import EventError
from throughline.log.entry import Entry, entry_of
from throughline.spec import dump

MOST_REJECTED = 1_000
"""Rejected items after which the rest of an array is not read."""

MOST_LISTED = 100
"""Rejected items that an answer lists."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The reason why an item was rejected; the exception itself would keep 6 kB of traceback."""

    index: int
    path: str
    received: str
    expected: str

    @property
    def reason(self) -> str:
        """The reason in one line."""
        return f"{self.path}: received {self.received}, expected {self.expected}"


@dataclass(slots=True)
class Items:
    """Events and first rejected items of an array, with counts of rejected and unread ones."""

    entries: list[Entry] = field(default_factory=list)
    listed: list[Rejected] = field(default_factory=list)
    rejected: int = 0
    unread: int = 0


def read_items(items: Sequence[Any], most: int | None = None) -> Items:
    """Read a limited number of items of an array, and none after 1,000 rejected ones."""
    found = Items()
    for index, item in enumerate(items):
        if index == most or found.rejected == MOST_REJECTED:
            found.unread = len(items) - index
            break
        try:
            found.entries.append(entry_of(dump(item), item))
        except EventError as error:
            found.rejected += 1
            if len(found.listed) < MOST_LISTED:
                rejected = Rejected(index, error.path, error.received, error.expected)
                found.listed.append(rejected)
    return found
