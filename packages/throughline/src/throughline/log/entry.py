"""An event on its way into the log: parsed, without secrets, with its identity and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from throughline.errors import EventError
from throughline.log.redact import is_suspicious, redact
from throughline.spec import Event, dump, identity_of, load_plain, parse_event


@dataclass(frozen=True, slots=True)
class Entry:
    """One event, ready to be appended."""

    event: Event
    body: str

    @property
    def hash(self) -> str:
        """The identity of the event."""
        return self.event.hash


def entry_of(raw: bytes, body: Any = None) -> Entry:
    """Make an entry of raw JSON; with `body`, its decoded form, it has to be standard JSON.

    The text is kept byte for byte unless a secret had to go or it was not quite JSON.
    """
    if body is None:
        raw, body = load_plain(raw)
    try:
        clean = redact(body) if is_suspicious(raw) else body
        event = parse_event(clean, identity_of(clean))
    except RecursionError:
        raise EventError("$", "a deeper nesting", "at most 254 levels") from None
    return Entry(event, (raw if clean is body else dump(clean)).decode().strip())


def read_entry(body: str) -> Event:
    """The event of a stored text."""
    decoded = orjson.loads(body)
    return parse_event(decoded, identity_of(decoded))
