"""An event on its way into the log: parsed, without secrets, with its identity and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from throughline.errors import EventError
from throughline.log.redact import is_suspicious, redact
from throughline.spec import Event, identity_of, load, parse_event


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
    """Make an entry of raw JSON (and of its decoded form, when the caller has it already).

    The text is kept byte for byte unless a secret had to go or it was not quite JSON.
    """
    body = load(raw) if body is None else body
    try:
        clean = redact(body) if is_suspicious(raw) else body
        entry = Entry(parse_event(clean, identity_of(clean)), "")
        return Entry(entry.event, _text(raw, body, clean))
    except RecursionError:
        raise EventError("$", "a deeper nesting", "at most 254 levels") from None


def read_entry(body: str) -> Event:
    """The event of a stored text."""
    decoded = orjson.loads(body)
    return parse_event(decoded, identity_of(decoded))


def _text(raw: bytes, body: Any, clean: Any) -> str:
    if clean is not body:
        return orjson.dumps(clean).decode()
    try:
        orjson.loads(raw)
        return raw.decode().strip()
    except ValueError:
        return orjson.dumps(body).decode()
