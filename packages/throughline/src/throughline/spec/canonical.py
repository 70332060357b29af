"""Canonical JSON and the identity of an event.

The canonical form is UTF-8 JSON without white space, keys sorted by their bytes, as orjson writes
it. The identity of an event is the SHA-256 of the canonical form of what the log keeps, so that the
log can prove itself and the same event is the same row whoever delivers it, and however often.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from throughline.errors import EventError


def dump(body: Any, option: int = 0) -> bytes:
    """The JSON of a decoded body.

    Raises:
        EventError: it holds what JSON cannot say, such as half of a character.
    """
    try:
        return orjson.dumps(body, option=option)
    except TypeError as error:
        raise EventError("$", str(error), "Unicode JSON nested at most 254 levels deep") from error


def canonical(body: Any) -> bytes:
    """The canonical JSON of a body."""
    return dump(body, orjson.OPT_SORT_KEYS)


def identity_of(body: Any) -> str:
    """The identity of a body: 64 hexadecimal digits."""
    return hashlib.sha256(canonical(body)).hexdigest()
