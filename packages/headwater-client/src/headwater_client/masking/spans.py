"""Replace parts of long texts without creating many short strings, to limit memory."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator

Span = tuple[int, int]
"""The start and the end of a part of a text, such as a secret."""

_MOST_PARTS = 10_000
WINDOW = 262_144
"""Characters of a long text that are searched at once."""
_BITS = 32


def join_parts(parts: Iterable[str]) -> str:
    """Join parts, a limited number at a time: many short strings need more memory than one."""
    joined = ""
    waiting: list[str] = []
    for part in parts:
        waiting.append(part)
        if len(waiting) > _MOST_PARTS:
            joined += "".join(waiting)  # CPython extends the string without a copy
            waiting.clear()
    if not joined:
        return "".join(waiting)
    joined += "".join(waiting)
    return joined


def replace_spans(text: str, spans: Iterable[Span], mask: str) -> str:
    """Replace the spans of a text, sorted by their start, by a mask.

    A span that starts before the end of the previous one is ignored. Without spans, the result is
    the same object as the text.
    """
    end = 0

    def parts() -> Iterator[str]:
        nonlocal end
        for begin, stop in spans:
            if begin >= end:
                yield text[end:begin]
                yield mask
                end = stop

    masked = join_parts(parts())
    if not end:
        return text
    masked += text[end:]
    return masked


def sorted_spans(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans by their start, with little memory even for hundreds of thousands of them."""
    numbers = array("Q", (begin << _BITS | stop for begin, stop in spans))
    for number in sorted(numbers):
        yield number >> _BITS, number & (1 << _BITS) - 1


def matches(
    pattern: re.Pattern[str], text: str, longest: int, start: int = 0
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern; a match has at most `longest` characters.

    A long text is searched in windows, so that other threads can run between two searches.
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
