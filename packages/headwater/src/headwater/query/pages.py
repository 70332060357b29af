"""Pages of unbounded lists: a number of items, and a cursor to the next page.

A cursor is the sort key of the last item, not an offset: items that arrive between two pages shift
nothing. Together, the pages contain each item exactly once if it existed at the first page and kept
its sort key. An item that changes its key in the meantime (a run with a late START) is included if
its new key is still ahead.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from hashlib import blake2b
from heapq import nlargest, nsmallest
from typing import TypeVar

import orjson

from headwater import deadline
from headwater.errors import ConfigError, shown
from headwater.query.models import Page

Item = TypeVar("Item")
Place = tuple[int | str, ...]
"""The sort key of an item."""
_LARGEST = 2**63 - 1  # that a database can count to


def cut(
    about: tuple[object, ...],
    items: Iterable[Item],
    place: Callable[[Item], Place],
    limit: int,
    cursor: str | None,
    *,
    newest_first: bool = False,
) -> tuple[list[Item], str | None]:
    """Return the next items in the order of their sort keys, and the cursor to the next page.

    `about` is the query with its parameters; a cursor is valid for these only. Sort keys must be
    unique, so that no item is skipped.

    `place` returns the sort key of an item. `cursor` is None for the first page, and so is the
    returned one on the last page. Raises ConfigError for an invalid cursor.
    """
    items = deadline.watched(items)
    if cursor is not None:
        last = place_of(about, cursor)
        try:
            items = [item for item in items if _is_after(place(item), last, newest_first)]
        except TypeError:
            raise _wrong(cursor) from None
    found = (nlargest if newest_first else nsmallest)(limit + 1, items, key=place)
    more = cursor_of(about, place(found[limit - 1])) if len(found) > limit else None
    return found[:limit], more


def paged(items: list[Item], cursor: str | None) -> Page[Item]:
    """Return a page; `cursor` is that of the next one, None on the last."""
    return {"items": items, "next": cursor}


def cursor_of(about: tuple[object, ...], place: Place) -> str:
    """Return the cursor to the items after a sort key."""
    return urlsafe_b64encode(orjson.dumps([_mark(about), *place])).decode().rstrip("=")


def place_of(
    about: tuple[object, ...], cursor: str, kinds: tuple[type, ...] | None = None
) -> Place:
    """Return the sort key in a cursor; `kinds` are the required types of its parts.

    A cursor is the JSON of a mark of its query and of the parts of the key, in base64.

    Raises:
        ConfigError: the cursor is invalid, or belongs to another query than `about`.
    """
    try:
        mark, *place = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        raise _wrong(cursor) from None
    is_fit = all(_is_part(part) for part in place)
    if mark != _mark(about) or not is_fit or kinds not in (None, tuple(map(type, place))):
        raise _wrong(cursor)
    return tuple(place)


def _is_after(place: Place, last: Place, newest_first: bool) -> bool:
    return place < last if newest_first else place > last


def _is_part(part: object) -> bool:
    if isinstance(part, int):
        return 0 <= part <= _LARGEST
    return isinstance(part, str) and "\x00" not in part


def _mark(about: tuple[object, ...]) -> str:
    return blake2b(repr(about).encode(errors="replace"), digest_size=6).hexdigest()


def _wrong(cursor: str) -> ConfigError:
    return ConfigError(
        f"cursor: received {shown(cursor)}, expected `next` of an answer to the same query with"
        " the same parameters"
    )
