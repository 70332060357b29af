"""Lines into entries; those that cannot be placed into refusals."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from throughline.collect.torn import split_torn
from throughline.errors import BodyError, EventError
from throughline.log import (
    MOST_REJECTED,
    Entry,
    Refusal,
    Rejected,
    entry_of,
    read_items,
    without_secrets,
)
from throughline.redaction import redact_line
from throughline.spec import dump, load_plain

_LONGEST_KEPT = 20_000
_MOST_KEPT = 1_000
_LONGEST_REDACTED = 4 * _LONGEST_KEPT


@dataclass(slots=True)
class Lines:
    """The result of ingesting lines; only the first rejected lines and items are kept."""

    entries: list[Entry] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    rejected: int = 0
    unread: int = 0

    def add(self, raw: bytes, source: str) -> None:
        """Place one JSON text: an event, or an array of events."""
        try:
            plain, body = load_plain(raw)
            if not isinstance(body, list):
                self.entries.append(entry_of(plain, body))
                return
        except EventError as error:
            found = self._recover(raw) if isinstance(error, BodyError) else None
            reason, lost = found or (str(error), raw)
            self.rejected += 1
            self._keep(source, reason, lost)
            return
        items = read_items(body)
        self.entries += items.entries
        self.rejected += items.rejected
        self.unread += items.unread
        for item in items.listed:
            self._keep(f"{source}[{item.index}]", item.reason, _text(body[item.index], item))

    def _recover(self, raw: bytes) -> tuple[str, bytes] | None:
        """Ingest the complete events of a torn line; return a reason and the lost text, or None.

        A killed producer leaves a line without an end; the next producer appends to it. None means
        that the line contains no complete event.
        """
        events, lost = split_torn(raw)
        try:
            self.entries += (placed := [entry_of(event) for event in events])
        except EventError:
            return None
        if not placed:
            return None
        kept = "1 complete event" if len(placed) == 1 else f"{len(placed)} complete events"
        return f"torn line: {kept} ingested, the other {len(lost)} bytes are lost", lost

    def end(self, source: str) -> None:
        """Add a final entry with the number of unlisted rejections."""
        if missing := self.rejected - len(self.refusals):
            reason = f"{missing} more lines or items were rejected"
            self.refusals.append(Refusal(source, reason, f"{source}: {reason}"))
        if self.unread:
            reason = f"{self.unread} items after {MOST_REJECTED} rejected ones were not read"
            self.refusals.append(Refusal(source, reason, f"{source}: {reason}"))

    def _keep(self, source: str, reason: str, raw: bytes) -> None:
        if len(self.refusals) < _MOST_KEPT:
            self.refusals.append(Refusal(source, redact_line(reason), _shown(raw)))


def _shown(raw: bytes) -> str:
    """Return the start of a rejected text, with secrets masked."""
    if len(raw) <= _LONGEST_REDACTED:
        with suppress(EventError, RecursionError):
            return without_secrets(*load_plain(raw))[0].decode()[:_LONGEST_KEPT]
    return redact_line(raw[:_LONGEST_REDACTED].decode(errors="replace"))[:_LONGEST_KEPT]


def _text(item: Any, rejected: Rejected) -> bytes:
    """Return the JSON of a rejected item, or its error's description if it has none."""
    try:
        return dump(item)
    except EventError:
        return rejected.received.encode()


def sort_lines(lines: Iterable[tuple[str, bytes]]) -> Lines:
    """Place (source, line) pairs; empty lines are nothing."""
    found = Lines()
    source = ""
    for source, line in lines:
        if line.strip():
            found.add(line, source)
    found.end(source)
    return found
