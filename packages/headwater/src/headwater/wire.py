"""Conventions shared by the API and its clients."""

from __future__ import annotations

__all__ = ["UNCOUNTED", "http_name"]

UNCOUNTED = "uncounted"
"""Field of a partial answer: the number of items that are not determined yet. The next has more."""


def http_name(parameter: str) -> str:
    """Return the HTTP name of a query parameter: `as_of` is asOf, `from_` is from."""
    first, *rest = parameter.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)
