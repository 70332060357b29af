"""The append-only event log: the truth of which everything else is a projection."""

from throughline.log.entry import Entry, entry_of, read_entry
from throughline.log.redact import redact, redact_text
from throughline.log.store import Appended, EventLog, Offset, Refusal

__all__ = [
    "Appended",
    "Entry",
    "EventLog",
    "Offset",
    "Refusal",
    "entry_of",
    "read_entry",
    "redact",
    "redact_text",
]
