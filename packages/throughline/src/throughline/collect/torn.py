"""Find complete events in a torn line, which a killed producer left and another appended to."""

from __future__ import annotations

import json
import re

_DECODER = json.JSONDecoder()
_START = re.compile(
    r'\{\s*"(?:event(?:Time|Type)|run|job|dataset|inputs|outputs|producer|schemaURL)"\s*:'
)
_ABOUT = frozenset({"run", "job", "dataset"})
_MOST_TRIES, _MOST_WASTED = 1_000, 16 * 2**20
"""Limits of attempts and of characters decoded in vain per line, to avoid quadratic time."""


def split_torn(raw: bytes) -> tuple[list[bytes], bytes]:
    """Return the JSON of each complete event in an invalid line, and the rest of the line."""
    text = raw.decode(errors="surrogateescape")
    events: list[str] = []
    rest: list[str] = []
    after = at = wasted = tries = 0  # `after`: end of the last event; `at`: position
    while wasted < _MOST_WASTED and tries < _MOST_TRIES and (start := _START.search(text, at)):
        begin = start.start()
        try:
            body, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            end, body = getattr(error, "pos", begin), None
        if _is_event(body):
            rest.append(text[after:begin])
            events.append(text[begin:end])
            after = at = end
        else:
            wasted += end - begin
            tries += 1
            at = begin + 1
    rest.append(text[after:])
    return [_bytes(event) for event in events], _bytes("".join(rest))


def _is_event(body: object) -> bool:
    return isinstance(body, dict) and "eventTime" in body and not _ABOUT.isdisjoint(body)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
