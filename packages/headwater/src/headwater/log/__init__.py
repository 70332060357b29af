"""The append-only event log, from which everything else is projected."""

from headwater.log._damage import DamagedRow, damaged_rows, move_aside
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
    "DamagedRow",
    "Entry",
    "EventLog",
    "Offset",
    "RejectedLine",
    "Rejected",
    "damaged_rows",
    "entry_of",
    "move_aside",
    "read_entry",
    "read_items",
    "read_logged",
    "without_secrets",
    "storable",
]
