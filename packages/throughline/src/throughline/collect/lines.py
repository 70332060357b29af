"""Parse lines into entries and rejected lines."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from throughline.collect.torn import split_torn
from throughline.errors import BodyError, EventError
from throughline.events import dump, load_plain
from throughline.log import (
    MOST_REJECTED,
    Entry,
    Rejected,
    RejectedLine,
    entry_of,
    read_items,
    without_secrets,
)
from throughline.redaction import redact_line

_LONGEST_STORED = 20_000
_MOST_STORED = 1_000
_LONGEST_REDACTED = 4 * _LONGEST_STORED


@dataclass(slots=True)
class Lines:
    """Parsed lines; only the first rejected lines and items are listed."""

    entries: list[Entry] = field(default_factory=list)
    rejected_lines: list[RejectedLine] = field(default_factory=list)
    rejected: int = 0
    unread: int = 0

    def add(self, raw: bytes, source: str) -> None:
        """Add one JSON text: an event, or an array of events."""
        try:
            plain, body = load_plain(raw)
            if not isinstance(body, list):
                self.entries.append(entry_of(plain, body))
                return
        except EventError as error:
            recovered = self._recover(raw) if isinstance(error, BodyError) else None
            reason, lost = recovered or (str(error), raw)
            self.rejected += 1
            self._reject(source, reason, lost)
            return
        items = read_items(body)
        self.entries += items.entries
        self.rejected += items.rejected
        self.unread += items.unread
        for item in items.listed:
            self._reject(f"{source}[{item.index}]", item.reason, _text(body[item.index], item))

    def _recover(self, raw: bytes) -> tuple[str, bytes] | None:
        """Add the complete events of a torn line; return a reason and the lost text, or None.

        A killed producer leaves an unterminated line, to which the next producer appends. None
        means that the line contains no complete event.
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
        if missing := self.rejected - len(self.rejected_lines):
            reason = f"{missing} more lines or items were rejected"
            self.rejected_lines.append(RejectedLine(source, reason, f"{source}: {reason}"))
        if self.unread:
            reason = f"{self.unread} items after {MOST_REJECTED} rejected ones were not read"
            self.rejected_lines.append(RejectedLine(source, reason, f"{source}: {reason}"))

    def _reject(self, source: str, reason: str, raw: bytes) -> None:
        if len(self.rejected_lines) < _MOST_STORED:
            self.rejected_lines.append(RejectedLine(source, redact_line(reason), _printable(raw)))


def _printable(raw: bytes) -> str:
    """Return the start of a rejected text, with secrets masked."""
    if len(raw) <= _LONGEST_REDACTED:
        with suppress(EventError, RecursionError):
            return without_secrets(*load_plain(raw))[0].decode()[:_LONGEST_STORED]
    return redact_line(raw[:_LONGEST_REDACTED].decode(errors="replace"))[:_LONGEST_STORED]


def _text(item: Any, rejected: Rejected) -> bytes:
    """Return the JSON of a rejected item, or its error's description if it has none."""
    try:
        return dump(item)
    except EventError:
        return rejected.received.encode()


def sort_lines(lines: Iterable[tuple[str, bytes]]) -> Lines:
    """Parse (source, line) pairs; ignore empty lines."""
    result = Lines()
    source = ""
    for source, line in lines:
        if line.strip():
            result.add(line, source)
    result.end(source)
    return result
