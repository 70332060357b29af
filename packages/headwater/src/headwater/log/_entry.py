"""Prepare an event for the log: parse it, mask secrets and compute its identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.errors import EventError
from headwater.events import (
    Event,
    Logged,
    check_limits,
    dump,
    identity_of,
    load,
    load_plain,
    parse_alias,
    parse_event,
)
from headwater.identity import with_places
from headwater.log.schema import ALIAS
from headwater.redaction import DEFAULT, Redactor


@dataclass(frozen=True, slots=True)
class Entry:
    """One event, ready to be appended."""

    event: Logged
    body: str

    @property
    def hash(self) -> str:
        """The identity of the event."""
        return self.event.hash


def entry_of(raw: bytes, body: Any = None, redactor: Redactor = DEFAULT) -> Entry:
    """Create an entry from raw JSON, which must be standard JSON if `body` is its decoded form.

    Without `body`, the JSON is decoded here, also that of Python's dialect (NaN). The text stays
    unchanged unless it contains a secret or is not standard JSON. Secrets are masked in `body`
    itself, whose hash is the identity. Raises EventError for an invalid event or one that exceeds a
    limit.
    """
    if body is None:
        raw, body = load_plain(raw)
    check_limits(raw, body)
    try:
        raw = without_secrets(raw, body, redactor)
        event = with_places(parse_event(body, identity_of(body)))
    except RecursionError:
        raise EventError("$", "a deeper nesting", "at most 254 levels") from None
    return Entry(event, raw.decode().strip())


def without_secrets(raw: bytes, body: Any, redactor: Redactor) -> bytes:
    """Mask the secrets in a decoded body, and return its standard JSON.

    The JSON is rewritten if it contains a secret or a repeated key: the decoded form only has the
    last value of a key, so earlier values were not checked. Raises EventError or RecursionError if
    the body is nested too deeply.
    """
    if not redactor.is_suspicious(raw):
        return raw
    clean, has_changed = redactor.redact_in_place(body)
    plain = dump(clean)
    return plain if has_changed or raw.count(b'"') != plain.count(b'"') else raw


def read_entry(body: str) -> Event:
    """Return the event of a stored text of OpenLineage. Raises EventError if it is damaged."""
    decoded = load(body)
    return with_places(parse_event(decoded, identity_of(decoded)))


def read_logged(kind: str, body: str) -> Logged:
    """Return the event or the alias of a stored text. Raises EventError."""
    if kind != ALIAS:
        return read_entry(body)
    decoded = load(body)
    return parse_alias(decoded, identity_of(decoded))
