"""The append-only event log, from which everything else is projected."""

from headwater.log._entry import (
    Entry,
    entry_of,
    read_entry,
    read_logged,
    without_secrets,
)
from headwater.log._items import MOST_REJECTED, Items, Rejected, read_items
from headwater.log.schema import storable
from headwater.log.store import Appended, EventLog, Offset, RejectedLine

__all__ = [
    "Items",
    "MOST_REJECTED",
    "Appended",
    "Entry",
    "EventLog",
    "Offset",
    "RejectedLine",
    "Rejected",
    "entry_of",
    "read_entry",
    "read_items",
    "read_logged",
    "without_secrets",
    "storable",
]
