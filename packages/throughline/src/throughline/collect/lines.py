"""Lines into entries; those that cannot be placed into refusals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from throughline.errors import EventError
from throughline.log import Entry, Refusal, entry_of, redact_text
from throughline.spec import dump, load_plain

_LONGEST_KEPT = 20_000


@dataclass(slots=True)
class Lines:
    """What came of some lines."""

    entries: list[Entry] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def add(self, raw: bytes, source: str) -> None:
        """Place one JSON text: an event, or an array of events."""
        try:
            plain, body = load_plain(raw)
        except EventError as error:
            self._refuse(raw, source, error)
            return
        if not isinstance(body, list):
            self._place(plain, body, source)
            return
        for index, item in enumerate(body):
            self._place(None, item, f"{source}[{index}]")

    def _place(self, raw: bytes | None, body: Any, source: str) -> None:
        try:
            self.entries.append(entry_of(dump(body) if raw is None else raw, body))
        except EventError as error:
            self._refuse(repr(body).encode() if raw is None else raw, source, error)

    def _refuse(self, raw: bytes, source: str, error: Exception) -> None:
        line = redact_text(raw.decode(errors="replace"))[:_LONGEST_KEPT]
        self.refusals.append(Refusal(source, redact_text(str(error)), line))


def sort_lines(lines: Iterable[tuple[str, bytes]]) -> Lines:
    """Place (source, line) pairs; empty lines are nothing."""
    found = Lines()
    for source, line in lines:
        if line.strip():
            found.add(line, source)
    return found
