"""The rule of a batch: which messages of it are to come again.

SQS hands out a batch of messages; what is not named as failed is deleted. One that fails must not
be overtaken by those after it of its own group, and must not hold up any other group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Record = dict[str, Any]


def group_of(record: Record) -> str:
    """The group of a message; in a standard queue each is one by itself."""
    return str(record["attributes"].get("MessageGroupId") or record["messageId"])


def receives_of(record: Record) -> int:
    """How often a message was handed out, with this time."""
    return int(record["attributes"]["ApproximateReceiveCount"])


def failed(records: Iterable[Record], deliver: Callable[[Record], bool]) -> list[Record]:
    """The records to come again: each that `deliver` says no to, and what follows in its group.

    What follows is not tried.
    """
    waiting: set[str] = set()
    again: list[Record] = []
    for record in records:
        group = group_of(record)
        if group in waiting or not deliver(record):
            waiting.add(group)
            again.append(record)
    return again
