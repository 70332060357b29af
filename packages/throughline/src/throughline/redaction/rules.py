"""Rules that mask secrets, in groups with common marker strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

MASK = "***"

Replacement = str | Callable[[re.Match[str]], str]


class Rule(NamedTuple):
    """A pattern and its replacement."""

    pattern: str
    replacement: Replacement
    flags: int = re.IGNORECASE


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rules with their markers: every text that a rule matches contains one of them.

    Markers are lower case. `second_check` is another pattern for lower-case JSON that contains a
    marker, so that a common marker does not make every text slow.
    """

    markers: tuple[str, ...]
    rules: tuple[Rule, ...]
    second_check: bytes | None = None

    def mask(self, text: str) -> str:
        """Mask all matches of the rules in a text."""
        for rule in self.rules:
            text = compiled(rule.pattern, rule.flags).sub(rule.replacement, text)
        return text

    def may_match(self, lower: bytes) -> bool:
        """Return True if a rule may match a lower-case text that contains a marker."""
        return (
            self.second_check is None
            or _compiled_bytes(self.second_check).search(lower) is not None
        )


@cache
def compiled(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Compile a pattern on first use, because compiling all would delay every command."""
    return re.compile(pattern, flags | re.ASCII)


@cache
def _compiled_bytes(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.IGNORECASE)


def rules(*pairs: tuple[str, Replacement]) -> tuple[Rule, ...]:
    """Create rules from patterns and their replacements."""
    return tuple(Rule(pattern, replacement) for pattern, replacement in pairs)
