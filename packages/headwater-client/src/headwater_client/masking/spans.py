"""Replace parts of long texts without many short strings, which need more memory than one long."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator

Span = tuple[int, int]
"""The start and the end of a secret."""

_MOST_PARTS = 10_000
WINDOW = 262_144
_BITS = 32


def joined(parts: Iterable[str]) -> str:
    """Join parts, a limited number at a time."""
    pieces: list[str] = []
    waiting: list[str] = []
    for part in parts:
        waiting.append(part)
        if len(waiting) > _MOST_PARTS:
            pieces.append("".join(waiting))
            waiting.clear()
    return "".join([*pieces, *waiting])


def replaced(text: str, spans: Iterable[Span], mask: str) -> str:
    """Return a text with its spans, in order of their start, replaced by a mask.

    A span that starts before the end of another is ignored. The result is the same object if there
    are no spans.
    """
    end = 0

    def parts() -> Iterator[str]:
        nonlocal end
        for begin, stop in spans:
            if begin >= end:
                yield text[end:begin]
                yield mask
                end = stop

    masked = joined(parts())
    return masked + text[end:] if end else text


def ordered(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans in order of their start; hundreds of thousands of them need little memory."""
    numbers = array("Q", (begin << _BITS | stop for begin, stop in spans))
    for number in sorted(numbers):
        yield number >> _BITS, number & (1 << _BITS) - 1


def matches(
    pattern: re.Pattern[str], text: str, longest: int, start: int = 0
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern, which have at most `longest` characters.

    A long text is searched in windows. Other threads can run between two of them, but not during a
    search.
    """
    if len(text) - start <= WINDOW + longest:
        yield from pattern.finditer(text, start)
        return
    end = start
    for begin in range(start, len(text), WINDOW):
        last = begin + WINDOW
        place = max(begin, end)
        while place < last:
            match = pattern.search(text, place, last + longest)
            if match is None or match.start() >= last:
                break
            yield match
            end = match.end()
            place = max(end, match.start() + 1)
