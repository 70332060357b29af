"""The append-only event log: the truth of which everything else is a projection."""

from throughline.log.alerts import Alerts, Fired
from throughline.log.damage import DamagedRow, damaged_rows, move_aside
from throughline.log.deliveries import DeadLetter, Deliveries, Standing, standings
from throughline.log.entry import (
    Entry,
    alias_of,
    entry_of,
    read_entry,
    read_logged,
    without_secrets,
)
from throughline.log.items import MOST_REJECTED, Items, Rejected, read_items
from throughline.log.keys import SCOPES, Key, add_key, hash_of, keys_of, remove_key
from throughline.log.schema import storable
from throughline.log.snapshots import Snapshots
from throughline.log.store import Appended, EventLog, Offset, Refusal
from throughline.redaction import redact, redact_text, use_rules

__all__ = [
    "Alerts",
    "Fired",
    "Items",
    "MOST_REJECTED",
    "SCOPES",
    "Key",
    "add_key",
    "alias_of",
    "hash_of",
    "keys_of",
    "remove_key",
    "Appended",
    "DamagedRow",
    "DeadLetter",
    "Deliveries",
    "Entry",
    "EventLog",
    "Offset",
    "Refusal",
    "Rejected",
    "Snapshots",
    "Standing",
    "damaged_rows",
    "entry_of",
    "move_aside",
    "read_entry",
    "read_items",
    "read_logged",
    "redact",
    "redact_text",
    "use_rules",
    "without_secrets",
    "standings",
    "storable",
]
