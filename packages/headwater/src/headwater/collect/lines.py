"""Parse lines into entries and rejected lines.

A rejected line is stored in the log with its reason, so that nothing is lost without a trace. An
entry is an event that is ready to be stored. A *torn* line has the beginning of an event that a
killed producer did not finish, followed by what the next one appended. The source of a line is its
place, such as `events.jsonl:12`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headwater.errors import BodyError, EventError
from headwater.events import dump, load_plain
from headwater.log import (
    MOST_REJECTED,
    Entry,
    Rejected,
    RejectedLine,
    entry_of,
    read_items,
    without_secrets,
)
from headwater.redaction import Redactor

_LONGEST_STORED = 20_000
_MOST_STORED = 1_000
_LONGEST_REDACTED = 4 * _LONGEST_STORED
_DECODER = json.JSONDecoder()
_START = re.compile(
    r'\{\s*"(?:event(?:Time|Type)|run|job|dataset|inputs|outputs|producer|schemaURL)"\s*:'
)
_ABOUT = frozenset({"run", "job", "dataset"})
_MOST_TRIES, _MOST_WASTED = 1_000, 16 * 2**20
"""Limits per line on attempts and on characters of failed attempts, to avoid quadratic time."""


@dataclass(slots=True)
class Lines:
    """Parsed lines; only the first rejected lines and items are listed.

    `rejected` counts all rejected lines and items, and `unread` the items of arrays after 1,000
    rejected ones. `entries` are ready to be stored, with secrets masked by `redactor`.
    """

    redactor: Redactor
    entries: list[Entry] = field(default_factory=list)
    rejected_lines: list[RejectedLine] = field(default_factory=list)
    rejected: int = 0
    unread: int = 0

    def add(self, raw: bytes, source: str) -> None:
        """Add one JSON text: an event, or an array of events.

        `source` names the place of the text, such as `file.jsonl:12`, for the reason of a
        rejection.
        """
        try:
            plain, body = load_plain(raw)
            if not isinstance(body, list):
                self.entries.append(entry_of(plain, body, self.redactor))
                return
        except EventError as error:
            recovered = self._recover(raw) if isinstance(error, BodyError) else None
            reason, lost = recovered or (str(error), raw)
            self.rejected += 1
            self._reject(source, reason, lost)
            return
        items = read_items(body, self.redactor)
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
            self.entries += (
                placed := [entry_of(event, redactor=self.redactor) for event in events]
            )
        except EventError:
            return None
        if not placed:
            return None
        kept = "1 complete event" if len(placed) == 1 else f"{len(placed)} complete events"
        return f"torn line: {kept} ingested, the other {len(lost)} bytes are lost", lost

    def end(self, source: str) -> None:
        """Add a final entry with the number of unlisted rejections.

        Call it once, after the last line; `source` is that of the last line.
        """
        if missing := self.rejected - len(self.rejected_lines):
            reason = f"{missing} more lines or items were rejected"
            self.rejected_lines.append(RejectedLine(source, reason, f"{source}: {reason}"))
        if self.unread:
            reason = f"{self.unread} items after {MOST_REJECTED} rejected ones were not read"
            self.rejected_lines.append(RejectedLine(source, reason, f"{source}: {reason}"))

    def add_problem(self, source: str, reason: str) -> None:
        """Add a problem of a source as a rejected line without text."""
        self.rejected_lines.append(RejectedLine(source, reason, ""))

    def _reject(self, source: str, reason: str, raw: bytes) -> None:
        if len(self.rejected_lines) < _MOST_STORED:
            reason = self.redactor.redact_line(reason)
            self.rejected_lines.append(RejectedLine(source, reason, self._printable(raw)))

    def _printable(self, raw: bytes) -> str:
        """Return the start of a rejected text, with secrets masked."""
        if len(raw) <= _LONGEST_REDACTED:
            with suppress(EventError, RecursionError):
                clean = without_secrets(*load_plain(raw), self.redactor)
                return clean.decode()[:_LONGEST_STORED]
        text = raw[:_LONGEST_REDACTED].decode(errors="replace")
        return self.redactor.redact_line(text)[:_LONGEST_STORED]


def _text(item: Any, rejected: Rejected) -> bytes:
    """Return the JSON of a rejected item, or its error's description if it has none."""
    try:
        return dump(item)
    except EventError:
        return rejected.received.encode()


def sort_lines(lines: Iterable[tuple[str, bytes]], redactor: Redactor) -> Lines:
    """Parse (source, line) pairs; ignore empty lines.

    Each line is the raw JSON without its end. The counts of unlisted rejections are added at the
    end.
    """
    result = Lines(redactor)
    source = ""
    for source, line in lines:
        if line.strip():
            result.add(line, source)
    result.end(source)
    return result


def split_torn(raw: bytes) -> tuple[list[bytes], bytes]:
    """Return the JSON of each complete event in an invalid line, and the rest of the line.

    The tries are limited, see _MOST_TRIES; what is not searched is part of the rest.
    """
    text = raw.decode(errors="surrogateescape")
    events: list[str] = []
    rest: list[str] = []
    after = at = wasted = tries = 0  # `after`: end of the last event; `at`: position
    while wasted < _MOST_WASTED and tries < _MOST_TRIES and (start := _START.search(text, at)):
        begin = start.start()
        try:
            body, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            end, body = getattr(error, "pos", begin), None
        if _is_event(body):
            rest.append(text[after:begin])
            events.append(text[begin:end])
            after = at = end
        else:
            wasted += end - begin
            tries += 1
            at = begin + 1
    rest.append(text[after:])
    return [_bytes(event) for event in events], _bytes("".join(rest))


def _is_event(body: object) -> bool:
    return isinstance(body, dict) and "eventTime" in body and not _ABOUT.isdisjoint(body)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
