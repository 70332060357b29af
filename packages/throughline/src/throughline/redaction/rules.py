"""Rules that mask secrets, in groups that share the signs of their secrets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

MASK = "***"

Replacement = str | Callable[[re.Match[str]], str]


class Rule(NamedTuple):
    """A pattern, and what replaces its matches."""

    pattern: str
    replacement: Replacement
    flags: int = re.IGNORECASE


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rules, and the signs of which every text has one in which a rule matches.

    Signs are in lower case. `closer` is searched in lower-case JSON in which a sign was found: a
    sign that most texts have for other reasons does not have to cost a walk through all of them.
    """

    signs: tuple[str, ...]
    rules: tuple[Rule, ...]
    closer: bytes | None = None

    def mask(self, text: str) -> str:
        """Mask what the rules match in a text."""
        for rule in self.rules:
            text = compiled(rule.pattern, rule.flags).sub(rule.replacement, text)
        return text

    def may_match(self, lower: bytes) -> bool:
        """Return whether a rule could match in a lower-case text that has a sign."""
        return self.closer is None or _closer(self.closer).search(lower) is not None


@cache
def compiled(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: all of them would delay every command."""
    return re.compile(pattern, flags | re.ASCII)


@cache
def _closer(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.IGNORECASE)


def rules(*pairs: tuple[str, Replacement]) -> tuple[Rule, ...]:
    """Make rules of patterns and what replaces their matches."""
    return tuple(Rule(pattern, replacement) for pattern, replacement in pairs)
