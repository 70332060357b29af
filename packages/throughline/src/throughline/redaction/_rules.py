"""Rules that mask secrets, in groups with common marker strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property

from ahocorasick_rs import BytesAhoCorasick, Implementation

MASK = "***"

Replacement = str | Callable[[re.Match[str]], str]
Rule = str | tuple[str, Replacement]
"""A pattern, which ignores case, and the replacement of its matches.

A pattern without a replacement keeps its first group; the rest is masked.
"""


class Group:
    """Rules with their markers: every text that a rule matches contains one of them.

    Markers are lower case. `check` is another pattern for lower-case JSON that contains a marker,
    so that a common marker does not make every text slow.
    """

    def __init__(
        self, markers: str | tuple[str, ...], *rules: Rule, check: bytes | None = None
    ) -> None:
        self.markers = (markers,) if isinstance(markers, str) else markers
        self.rules = [(rule, rf"\1{MASK}") if isinstance(rule, str) else rule for rule in rules]
        self._check = check

    def mask(self, text: str) -> str:
        """Mask all matches of the rules in a text."""
        for pattern, replacement in self.rules:
            text = compiled(pattern).sub(replacement, text)
        return text

    def may_match(self, lower: bytes) -> bool:
        """Return True if a rule may match a lower-case text that contains a marker."""
        return self._check is None or _compiled_bytes(self._check).search(lower) is not None


class Finder:
    """Finds markers in texts."""

    _PART = 65_536
    """A text is searched in parts of this size, to limit memory."""

    def __init__(self, markers: Sequence[bytes]) -> None:
        self._markers = markers
        self._overlap = max(map(len, markers)) - 1

    @cached_property
    def _automaton(self) -> BytesAhoCorasick:
        return BytesAhoCorasick(self._markers, implementation=Implementation.DFA)

    def find(self, lower: bytes) -> Iterator[tuple[int, int]]:
        """Yield the index and the position of every marker in a lower-case text."""
        for begin in range(0, len(lower), self._PART):
            part = lower[begin : begin + self._PART + self._overlap]
            for index, start, _ in self._automaton.find_matches_as_indexes(part, overlapping=True):
                yield index, begin + start


def lower_bytes(text: str) -> bytes:
    """Return a text in lower case with one byte for each character."""
    return text.encode("ascii", "replace").lower()


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because compiling all would delay every command."""
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


@cache
def _compiled_bytes(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.IGNORECASE)
