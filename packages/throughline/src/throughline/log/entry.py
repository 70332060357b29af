"""An event on its way into the log: parsed, without secrets, with its identity and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from throughline.errors import EventError
from throughline.log.schema import ALIAS
from throughline.redaction import is_suspicious, redact
from throughline.spec import (
    Event,
    Logged,
    check_limits,
    dump,
    identity_of,
    load,
    load_plain,
    parse_alias,
    parse_event,
    shown_time,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event, ready to be appended."""

    event: Logged
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
    check_limits(raw, body)
    try:
        raw, clean = without_secrets(raw, body)
        event = parse_event(clean, identity_of(clean))
    except RecursionError:
        raise EventError("$", "a deeper nesting", "at most 254 levels") from None
    return Entry(event, raw.decode().strip())


def without_secrets(raw: bytes, body: Any) -> tuple[bytes, Any]:
    """Return standard JSON and its decoded form, both with secrets masked.

    The JSON is rewritten if it contains a secret or a repeated key: the decoded form has only
    the last value of a key, so the first one was not checked.

    Raises:
        EventError: the body is nested too deeply.
        RecursionError: the body is nested too deeply.
    """
    if not is_suspicious(raw):
        return raw, body
    clean = redact(body)
    plain = dump(clean)
    is_same = clean is body and raw.count(b'"') == plain.count(b'"')
    return raw if is_same else plain, clean


def alias_of(one: tuple[str, str], other: tuple[str, str], time: int, *, is_removed: bool) -> Entry:
    """Make an entry that joins two (namespace, name) from a time in microseconds on, or parts."""
    body = {
        "eventTime": shown_time(time),
        "datasets": [{"namespace": each[0], "name": each[1]} for each in (one, other)],
        "isRemoved": is_removed,
    }
    return Entry(parse_alias(body, identity_of(body)), dump(body).decode())


def read_entry(body: str) -> Event:
    """Return the event of a stored text of OpenLineage.

    Raises:
        EventError: the text is damaged: it is not JSON, or not an event.
    """
    decoded = load(body)
    return parse_event(decoded, identity_of(decoded))


def read_logged(kind: str, body: str) -> Logged:
    """Return the event or the alias of a stored text. Raises EventError."""
    if kind != ALIAS:
        return read_entry(body)
    decoded = load(body)
    return parse_alias(decoded, identity_of(decoded))
