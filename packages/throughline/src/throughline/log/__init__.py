"""The append-only event log, from which everything else is projected."""

from throughline.log.alerts import Alerts, FiredAlert
from throughline.log.damage import DamagedRow, damaged_rows, move_aside
from throughline.log.deliveries import DeadLetter, Deliveries, DeliveryStatus, delivery_statuses
from throughline.log.entry import (
    Entry,
    entry_of,
    make_alias,
    read_entry,
    read_logged,
    without_secrets,
)
from throughline.log.items import MOST_REJECTED, Items, Rejected, read_items
from throughline.log.keys import SCOPES, Key, KeyInfo, add_key, hash_of, keys_of, remove_key
from throughline.log.schema import storable
from throughline.log.snapshots import Snapshots
from throughline.log.store import Appended, EventLog, Offset, RejectedLine
from throughline.redaction import redact, redact_text, use_rules

__all__ = [
    "Alerts",
    "FiredAlert",
    "Items",
    "MOST_REJECTED",
    "SCOPES",
    "Key",
    "KeyInfo",
    "add_key",
    "make_alias",
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
    "RejectedLine",
    "Rejected",
    "Snapshots",
    "DeliveryStatus",
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
    "delivery_statuses",
    "storable",
]
