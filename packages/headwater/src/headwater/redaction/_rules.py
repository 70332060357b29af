"""Rules that mask secrets, in groups with common marker strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property

from ahocorasick_rs import BytesAhoCorasick, Implementation

from headwater_client.masking.spans import join_parts, matches

MASK = "***"

_LONGEST_MATCH = 131_072
"""More characters than any pattern of a group matches, unless the group `is_unbounded`."""

Replacement = str | Callable[[re.Match[str]], str]
Rule = str | tuple[str, Replacement]
"""A pattern, which ignores case, and the replacement of its matches.

A pattern without a replacement keeps its first group; the rest is masked.
"""


class Group:
    """Rules with their markers: every text that a rule matches contains one of them.

    A text without a marker therefore needs no regular expression. Markers are lower case. `check`
    is another pattern for lower-case JSON that contains a marker, so that a common marker does not
    make every text slow. Matches of an `is_unbounded` group may have any length.
    """

    def __init__(
        self,
        markers: str | tuple[str, ...],
        *rules: Rule,
        check: bytes | None = None,
        is_unbounded: bool = False,
    ) -> None:
        """Complete rules without a replacement: they keep their first group and mask the rest."""
        self.markers = (markers,) if isinstance(markers, str) else markers
        self.rules = [(rule, rf"\1{MASK}") if isinstance(rule, str) else rule for rule in rules]
        self._check = check
        self._is_unbounded = is_unbounded

    def mask(self, text: str) -> str:
        """Mask all matches of the rules in a text."""
        for pattern, replacement in self.rules:
            longest = len(text) if self._is_unbounded else _LONGEST_MATCH
            text = join_parts(_masked_parts(compiled(pattern), replacement, text, longest))
        return text

    def may_match(self, lower: bytes) -> bool:
        """Return True if a rule may match a lower-case text that contains a marker."""
        return self._check is None or _compiled_bytes(self._check).search(lower) is not None


def _masked_parts(
    pattern: re.Pattern[str], replacement: Replacement, text: str, longest: int
) -> Iterator[str]:
    """Yield the parts of a text with its matches replaced.

    `longest` is the number of characters within which each match lies, so that long texts are
    searched in windows.
    """
    end = 0
    for match in matches(pattern, text, longest):
        yield text[end : match.start()]
        yield match.expand(replacement) if isinstance(replacement, str) else replacement(match)
        end = match.end()
    yield text[end:]


class Finder:
    """A finder of all markers in a text in one pass; an index in a result is that of the marker."""

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
            yield from self._find_in(lower[begin : begin + self._PART + self._overlap], begin)

    def find_in_text(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the index and the position of every marker in a text."""
        for begin in range(0, len(text), self._PART):
            part = lower_bytes(text[begin : begin + self._PART + self._overlap])
            yield from self._find_in(part, begin)

    def starts(self, text: str) -> Iterator[int]:
        """Yield the positions of all markers in a text, in order."""
        last = -1
        for begin in range(0, len(text), self._PART):
            part = lower_bytes(text[begin : begin + self._PART + self._overlap])
            for start in sorted({start for _, start in self._find_in(part, begin)}):
                if start > last:
                    yield start
                    last = start

    def _find_in(self, part: bytes, begin: int) -> Iterator[tuple[int, int]]:
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
