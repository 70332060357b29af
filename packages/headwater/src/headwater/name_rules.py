"""Rules that join all pairs of names that match two patterns, such as `prod_%s` and `%s`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

WILDCARD = "%s"
"""The part of a pattern that stands for any text that is not empty, the same in both names."""

Name = tuple[str, str]
"""A namespace, and a name or the pattern of one."""


def mates(rules: Iterable[tuple[Name, Name]], name: Name) -> Iterator[Name]:
    """Yield the names that rules join with a name.

    Each rule joins in both directions.
    """
    for rule in rules:
        for one, other in (rule, rule[::-1]):
            value = value_in(one, name)
            if value is not None:
                yield other[0], other[1].replace(WILDCARD, value)


def value_in(pattern: Name, name: Name) -> str | None:
    """Return the text that the wildcard of a pattern stands for in a name; None if none matches."""
    start, _, end = pattern[1].partition(WILDCARD)
    text = name[1]
    is_fit = pattern[0] == name[0] and text.startswith(start) and text.endswith(end)
    return text[len(start) : len(text) - len(end)] or None if is_fit else None
