"""Lines that a log cut in pieces, whole again.

A record of CloudWatch ends after 256 kB, one of Docker after 16 kB; events are longer. A line whose
JSON is open waits for the next lines of its stream that do not begin as log lines do; lines of
others that come in between are handed on. What stays open is handed on as it came, and is then told
to be no JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

import orjson

from throughline.collect.logs import SIGN

Where = TypeVar("Where")

_MOST_BYTES = 32 * 1024 * 1024
_MOST_PASSED = 100
_LOST = "\ufffd".encode()  # what is written for a character that was cut in two
# A string, which may have no end, or a brace outside of strings.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_OBJECT = re.compile(rb'\{\s*(?:"|\Z)')
# 26/11/22 08:00:00 INFO, 2026-11-22T08:00:00.000Z INFO, [2026-11-22, 08:00:00 UTC], INFO ...;
# a time in an event's JSON has a quote after it.
_BEGINS = re.compile(
    rb"\s*(\[?\d{2,4}[-/]\d\d[-/]\d\d[ T,]+\d\d:\d\d:\d\d[\d.,+:Z-]*[\] \t]"
    rb"|\[?(TRACE|DEBUG|INFO|WARN|ERROR)\b)"
)

# What a line of JSON has that is not by chance a whole object of an event in pieces.
_OF_LOGS = {"eventTime", "timestamp", "@timestamp", "time", "ts", "level", "log"}


class Joiner(Generic[Where]):
    """Joins the lines of one stream; each has a `where`, and a joined one that of its first."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Where, bytes]] = []
        self._passed = 0

    @property
    def open_since(self) -> Where | None:
        """Where the line begins that is not whole yet; None if there is none."""
        return self._pieces[0][0] if self._pieces else None

    def feed(self, where: Where, line: bytes) -> Iterator[tuple[Where, bytes]]:
        """Take a line; answers those that are whole now."""
        if self._pieces and not _is_own(line):
            yield from self._continue(where, line)
            return
        if (SIGN in line or not self._pieces) and _is_open(line):
            yield from self.close()
            self._pieces.append((where, line))
            return
        self._passed += bool(self._pieces)
        if self._passed > _MOST_PASSED:
            yield from self.close()
        yield where, line

    def close(self) -> Iterator[tuple[Where, bytes]]:
        """Give up what is open: its pieces as they came."""
        pieces, self._pieces, self._passed = self._pieces, [], 0
        yield from pieces

    def _continue(self, where: Where, line: bytes) -> Iterator[tuple[Where, bytes]]:
        is_torn = self._pieces[-1][1].endswith(_LOST) or line.startswith(_LOST)
        self._pieces.append((where, line))
        whole = b"".join(piece for _, piece in self._pieces)
        if is_torn or len(whole) > _MOST_BYTES:
            yield from self.close()
        elif not _is_open(whole):
            first = self._pieces[0][0]
            self._pieces, self._passed = [], 0
            yield first, whole


def _is_own(line: bytes) -> bool:
    """Whether a line cannot be the rest of another one."""
    if _BEGINS.match(line) or line.startswith(b'{"' + SIGN):
        return True
    if not line.startswith(b"{"):
        return False
    try:
        return not _OF_LOGS.isdisjoint(orjson.loads(line))
    except orjson.JSONDecodeError:
        return False


def _is_open(text: bytes) -> bool:
    """Whether an object begins in a text that does not end in it."""
    start = _OBJECT.search(text)
    depth = 0
    for found in _TOKEN.finditer(text, start.start()) if start else ():
        depth += {b"{": 1, b"}": -1}.get(found[0], 0)
    return depth > 0
