"""What both ends of the API agree on."""

from __future__ import annotations

__all__ = ["http_name"]


def http_name(parameter: str) -> str:
    """What a parameter of a question is called over HTTP: `as_of` asOf, `from_` from."""
    first, *rest = parameter.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)
