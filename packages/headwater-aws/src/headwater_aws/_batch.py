"""Select the messages of a batch that must be retried.

SQS deletes the messages of a batch that are not reported as failed. Later messages of the same
group must not overtake a failed one; other groups continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater_aws.payloads import Record


def group_of(record: Record) -> str:
    """Return the group of a message; in a standard queue every message is its own group."""
    return str(record["attributes"].get("MessageGroupId") or record["messageId"])


def receives_of(record: Record) -> int:
    """Return the number of times that a message was received, including this one."""
    return int(record["attributes"]["ApproximateReceiveCount"])


def failed_records(records: Iterable[Record], deliver: Callable[[Record], bool]) -> list[Record]:
    """Return the records for which `deliver` returns False, and the later ones of their groups.

    `deliver` is not called for the latter.
    """
    failed_groups: set[str] = set()
    retried: list[Record] = []
    for record in records:
        group = group_of(record)
        if group in failed_groups or not deliver(record):
            failed_groups.add(group)
            retried.append(record)
    return retried
