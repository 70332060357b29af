"""Read the items of an array, and stop if it clearly contains no events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.errors import EventError
from headwater.events import dump
from headwater.log._entry import Entry, entry_of
from headwater.redaction import Redactor

MOST_REJECTED = 1_000
"""Rejected items after which the rest of an array is not read."""

_MOST_LISTED = 100
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

    redactor: Redactor
    entries: list[Entry] = field(default_factory=list)
    listed: list[Rejected] = field(default_factory=list)
    rejected: int = 0
    unread: int = 0

    def add(self, index: int, item: Any) -> None:
        """Add the entry of an item, or the reason for its rejection."""
        try:
            self.entries.append(entry_of(dump(item), item, self.redactor))
        except EventError as error:
            self.rejected += 1
            if len(self.listed) < _MOST_LISTED:
                self.listed.append(Rejected(index, error.path, error.received, error.expected))


def read_items(items: Sequence[Any], redactor: Redactor, most: int | None = None) -> Items:
    """Read a limited number of items of an array, and none after 1,000 rejected ones.

    `most` limits the items that are read; None for no limit. `unread` of the result counts the
    rest.
    """
    items_read = Items(redactor)
    for index, item in enumerate(items):
        if index == most or items_read.rejected == MOST_REJECTED:
            items_read.unread = len(items) - index
            break
        items_read.add(index, item)
    return items_read
