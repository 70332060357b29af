"""Split a large JSON array into its items without decoding it as a whole, to limit memory.

A decoded event needs up to 20 times as much memory as its JSON.

A window is a part of the body that is decoded at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from headwater.errors import BodyError, TooLargeError
from headwater.events import load

_MOST_VALUES = 400_000
"""Largest number of values in an event; most values take 70 to 250 bytes of memory."""

_WINDOW = 1_048_576
ARRAY = re.compile(rb"[ \t\r\n]*\[")
ARRAY_OR_BATCH = re.compile(rb'[ \t\r\n]*(?:\{[ \t\r\n]*"events"[ \t\r\n]*:[ \t\r\n]*)?\[')
"""Start of an array, or of an object whose key `events` has an array."""

_SPACE = re.compile(r"[ \t\r\n]*")
_SCAN = json.JSONDecoder().raw_decode  # (text, place): the value there, and its end


def split_array(raw: bytes, start: bytes, largest: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each item; `start` is the JSON before the first item.

    Raises:
        BodyError: the body is not JSON.
        TooLargeError: an item has too many values, or is larger than `largest`.

    `raw` is the whole body, and the yielded numbers are places in it, in bytes. A window that ends
    within an item is doubled until the item fits.
    """
    place, size, mark = len(start), _WINDOW, ""
    while mark != "]":
        text = _window(raw, place, size)
        at = 0
        while mark != "]" and (item := _item(text, at, is_first=not mark)) is not None:
            mark = item.mark
            first = place + _size(text, at, item.begin)
            last = first + _size(text, item.begin, item.end)
            if last > first:
                check_size(raw[first:last], largest)
                yield first, last
            place, at = last + _size(text, item.end, item.after), item.after
        if at:
            size = _WINDOW
        elif place + size < len(raw):
            check_values(raw[place : place + size])
            check_size(raw[place : place + size], largest)
            size *= 2
        else:
            raise BodyError("$", raw[:80].decode(errors="replace"), "JSON (an array is invalid)")
    _check_end(start, raw[place - 1 :])


def _check_end(start: bytes, rest: bytes) -> None:
    """Check what follows the array: nothing, or the end of the object that contains it.

    `start` is the JSON before the first item, and `rest` that from the closing bracket on:
    together, they are the body with an empty array. Raises BodyError for invalid JSON, and for a
    second key `events`, whose array would replace the first one.
    """
    check_values(rest)
    around = load(start + rest)
    if around not in ([], {"events": []}) and around.get("events") != []:
        raise BodyError("$", "a repeated key `events`", "one array in `events`")


def check_values(raw: bytes, most: int = _MOST_VALUES) -> None:
    """Raise TooLargeError for more values than `most`, estimated from commas and brackets."""
    values = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    if values > most:
        raise TooLargeError("$", f"about {values} values", f"at most {most} values")


_EMOJI = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")
_NOT_LATIN_1 = re.compile(rb"[\xc4-\xef]|\\u(?!00)")
_CONTINUATION = bytes(range(0x80, 0xC0))


def check_size(raw: bytes, largest: int) -> None:
    """Raise TooLargeError if the JSON of an event is larger than `largest` bytes.

    Every character counts as many bytes as the widest one takes in Python. Masking and storing an
    event needs up to five copies of its text.

    Raises before the event is decoded. `largest` is the setting HEADWATER_LARGEST_EVENT.
    """
    size = len(raw)
    if size * 4 <= largest:
        return
    width = 4 if _EMOJI.search(raw) else 2 if _NOT_LATIN_1.search(raw) else 1
    if width > 1:
        size = max(size, width * len(raw.translate(None, _CONTINUATION)))
    if size > largest:
        allowed = f"at most {largest} bytes (HEADWATER_LARGEST_EVENT)"
        raise TooLargeError("$", f"an event of {size} bytes", allowed)


def _window(raw: bytes, place: int, size: int) -> str:
    """Decode a part of a body, without a character that is cut off at its end.

    Raises BodyError if the part is no UTF-8. Only a character at the end may be cut off.
    """
    part = raw[place : place + size]
    try:
        return part.decode()
    except UnicodeDecodeError as error:
        if error.start < len(part) - 3 or place + size >= len(raw):
            raise BodyError("$", repr(part[error.start :][:8]), "JSON in UTF-8") from None
        return part[: error.start].decode()


class _Item(NamedTuple):
    """An item of an array: its places in a text, in characters, and the mark after it."""

    begin: int
    end: int
    after: int
    """The place after the mark."""
    mark: str
    """A comma, or the closing bracket of the array."""


def _item(text: str, at: int, *, is_first: bool) -> _Item | None:
    """Return the item at a position; None if the text ends too early, or is no JSON.

    `at` is a place in the text of a window, in characters. The item of an empty array is empty.
    After None, the caller reads the next or a larger window; if there is none, the body is invalid.
    Raises BodyError for deep nesting.
    """
    begin = end = _skip(text, at)
    if not is_first or text[begin : begin + 1] != "]":
        try:
            _, end = _SCAN(text, begin)
        except json.JSONDecodeError:
            return None
        except RecursionError:
            raise BodyError("$", "deep nesting", "JSON with fewer levels") from None
    after = _skip(text, end)
    mark = text[after : after + 1]
    return _Item(begin, end, after + 1, mark) if mark in {",", "]"} else None


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _size(text: str, begin: int, end: int) -> int:
    """Return the number of bytes of a part of a text."""
    return end - begin if text.isascii() else len(text[begin:end].encode())
