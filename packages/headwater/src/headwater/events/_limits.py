"""Limits of one event: nesting, items of an array, characters of a string.

Each event is checked before it is parsed, so parsed events are safe to walk through with recursion
and to embed in answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from headwater.errors import LimitError

MOST_LEVELS = 100
"""Nesting levels; responses that embed a facet stay below orjson's limit of 254."""

MOST_ITEMS = 100_000
LONGEST_TEXT = 16 * 2**20

_WRAPPERS = 254 - MOST_LEVELS
_LONGEST_PATH = 200


class _Place(NamedTuple):
    """A value inside an event; `keys` is its path as linked (parent, key) pairs."""

    value: Any
    keys: Any
    level: int


def check_limits(raw: bytes, body: Any) -> None:
    """Check a decoded event against the limits; `raw` is its JSON. Raises LimitError."""
    if len(raw) <= MOST_ITEMS and not _is_deep(raw, body):
        return  # too small for a long array or string
    for place in _places(body):
        if problem := _problem(place):
            received, allowed = problem
            raise LimitError(_path(place.keys), received, allowed)


def _is_deep(raw: bytes, body: Any) -> bool:
    """Check the nesting with orjson's limit of 254 levels, which is much faster than a walk.

    The body is wrapped in so many lists that it exceeds that limit if it has more than MOST_LEVELS.
    """
    if raw.count(b"[") + raw.count(b"{") <= MOST_LEVELS:
        return False
    for _ in range(_WRAPPERS):
        body = [body]
    try:
        orjson.dumps(body)
    except orjson.JSONEncodeError:
        return True
    return False


def _places(body: Any) -> Iterator[_Place]:
    """Yield every object, array and string of a body that may exceed a limit, without recursion.

    Strings and keys within their limit are left out, and so are empty objects at allowed levels.
    """
    waiting = [_Place(body, None, 0)]
    while waiting:
        place = waiting.pop()
        yield place
        level = place.level + 1
        for key, value in _items(place.value):
            if isinstance(key, str) and len(key) > LONGEST_TEXT:
                yield _Place(key, (place.keys, "<key>"), level)
            if isinstance(value, str):
                if len(value) > LONGEST_TEXT:
                    yield _Place(value, (place.keys, key), level)
            elif isinstance(value, (dict, list)) and (value or level >= MOST_LEVELS):
                waiting.append(_Place(value, (place.keys, key), level))


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _problem(place: _Place) -> tuple[str, str] | None:
    """Return what a value is and what is allowed, as texts; None if it is within the limits."""
    value = place.value
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            return f"a string of {len(value)} characters", f"at most {LONGEST_TEXT} characters"
        return None
    if place.level >= MOST_LEVELS:
        return "a deeper nesting", f"at most {MOST_LEVELS} levels"
    if len(value) > MOST_ITEMS:
        return f"{len(value)} items", f"at most {MOST_ITEMS} items"
    return None


def _path(keys: Any) -> str:
    """Return a path as text, such as `run.facets[0]`; `keys` are linked (parent, key) pairs.

    None is the root, shown as `$`. A long path is truncated.
    """
    parts: list[Any] = []
    while keys is not None:
        keys, key = keys
        parts.append(key)
    text = ""
    for key in reversed(parts):
        text += f"[{key}]" if isinstance(key, int) else f".{key[:80]}"
        if len(text) > _LONGEST_PATH:
            return f"{text[1:_LONGEST_PATH]}..."
    return text.removeprefix(".") or "$"
