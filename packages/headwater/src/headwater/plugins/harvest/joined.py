"""Join lines that a log has split.

CloudWatch splits records after 256 kB, Docker after 16 kB, and events can be longer. A line with an
incomplete JSON object waits for the next lines that do not begin like log lines. Other lines in
between are passed on, as is an object that stays incomplete: it is rejected as invalid JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

import orjson

from headwater.collect.logs import MARKER

Where = TypeVar("Where")

_MOST_BYTES = 32 * 1024 * 1024
_MOST_INTERLEAVED = 100
_LOST = "\ufffd".encode()  # written in place of a character that was split
# A string, which may be unterminated, or a brace outside of strings.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_OBJECT = re.compile(rb'\{\s*(?:"|\Z)')
# 26/11/22 08:00:00 INFO, 2026-11-22T08:00:00.000Z INFO, [2026-11-22, 08:00:00 UTC], INFO ...;
# a time in an event's JSON has a quote after it.
_LOG_PREFIX = re.compile(
    rb"\s*(\[?\d{2,4}[-/]\d\d[-/]\d\d[ T,]+\d\d:\d\d:\d\d[\d.,+:Z-]*[\] \t]"
    rb"|\[?(TRACE|DEBUG|INFO|WARN|ERROR)\b)"
)

# Keys of a JSON line, as opposed to a complete object within a split event.
_LOG_KEYS = {"eventTime", "timestamp", "@timestamp", "time", "ts", "level", "log"}


class Joiner(Generic[Where]):
    """Join the lines of one stream; a joined line has the `where` of its first piece.

    `where` is the place of a line, such as a position. Lines of several streams need several
    joiners.
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[Where, bytes]] = []
        self._interleaved = 0

    @property
    def open_since(self) -> Where | None:
        """The `where` of the incomplete line; None if there is none."""
        return self._pieces[0][0] if self._pieces else None

    def feed(self, where: Where, line: bytes) -> Iterator[tuple[Where, bytes]]:
        """Add a line; yield the lines that are complete.

        A line that cannot be part of an event is yielded at once. Call `close` after the last line.
        """
        if self._pieces and not _starts_a_line(line):
            yield from self._continue(where, line)
            return
        # Only an event (MARKER) replaces an incomplete line; another one may be interleaved.
        if (MARKER in line or not self._pieces) and _has_open_object(line):
            yield from self.close()
            self._pieces.append((where, line))
            return
        self._interleaved += bool(self._pieces)
        if self._interleaved > _MOST_INTERLEAVED:
            yield from self.close()
        yield where, line

    def close(self) -> Iterator[tuple[Where, bytes]]:
        """Yield the pieces of the incomplete line unchanged."""
        pieces, self._pieces, self._interleaved = self._pieces, [], 0
        yield from pieces

    def _continue(self, where: Where, line: bytes) -> Iterator[tuple[Where, bytes]]:
        """Add a piece to the incomplete line; yield the line once it is complete.

        It is given up if it is too long or a character was lost between two pieces.
        """
        is_torn = self._pieces[-1][1].endswith(_LOST) or line.startswith(_LOST)
        self._pieces.append((where, line))
        whole = b"".join(piece for _, piece in self._pieces)
        if is_torn or len(whole) > _MOST_BYTES:
            yield from self.close()
        elif not _has_open_object(whole):
            first = self._pieces[0][0]
            self._pieces, self._interleaved = [], 0
            yield first, whole


def _starts_a_line(line: bytes) -> bool:
    """Return True if a line cannot continue another one."""
    if _LOG_PREFIX.match(line) or line.startswith(b'{"' + MARKER):
        return True
    if not line.startswith(b"{"):
        return False
    try:
        return not _LOG_KEYS.isdisjoint(orjson.loads(line))
    except orjson.JSONDecodeError:
        return False


def _has_open_object(text: bytes) -> bool:
    """Return True if a JSON object starts in a text and does not end in it."""
    start = _OBJECT.search(text)
    depth = 0
    for token in _TOKEN.finditer(text, start.start()) if start else ():
        depth += {b"{": 1, b"}": -1}.get(token[0], 0)
    return depth > 0
