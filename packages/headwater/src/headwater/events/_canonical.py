"""Canonical JSON and the identity of an event.

The canonical form is UTF-8 JSON without white space, with keys sorted by their bytes, as orjson
writes it. The identity of an event is the SHA-256 of the canonical form of its stored JSON. An
event that arrives repeatedly is therefore one row, and the log can be verified.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from headwater.errors import EventError


def dump(body: Any, option: int = 0) -> bytes:
    """Encode a body as JSON, with options of orjson.

    Raises EventError if that is impossible, as for a lone surrogate or too many levels.
    """
    try:
        return orjson.dumps(body, option=option)
    except TypeError as error:
        raise EventError("$", str(error), "Unicode JSON nested at most 254 levels deep") from error


def canonical(body: Any) -> bytes:
    """Return the canonical JSON of a body."""
    return dump(body, orjson.OPT_SORT_KEYS)


def identity_of(body: Any) -> str:
    """Return the identity of a body, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(body)).hexdigest()
