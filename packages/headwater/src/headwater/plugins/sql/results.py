"""Results of reading SQL texts, and their packed form, which can be stored.

A result depends only on the text, on the other arguments of `read_script` and on the code of the
reader. `key_of` identifies the arguments, and `reader_version` the code.
"""

from __future__ import annotations

import importlib.metadata
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Generic, TypeVar

import orjson

from headwater.plugins.sql.steps import TOO_DEEP
from headwater.sql.reader import (
    Arguments,
    ColumnChange,
    Kind,
    Origin,
    Origins,
    Script,
    Table,
    Unread,
    Written,
)

Item = TypeVar("Item", bound=Hashable)


def key_of(text: str, arguments: Arguments) -> bytes:
    """Return the identity of a text with the other arguments of `read_script`, 16 bytes."""
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16)
    others = arguments._replace(reported=frozenset())
    digest.update(repr((len(text), tuple(others), sorted(arguments.reported))).encode())
    return digest.digest()


@cache
def reader_version() -> str:
    """Return the identity of the code that reads texts, sqlglot's version included.

    Stored results of another version are deleted at the start.
    """
    digest = blake2b(importlib.metadata.version("sqlglot").encode(), digest_size=16)
    for folder in map(files, ("headwater.sql", "headwater.plugins.sql")):
        for file in sorted(folder.iterdir(), key=lambda item: item.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


_CHECK = 4
"""Bytes of the check sum before a packed result."""


def pack(key: bytes, result: Script | Unread) -> bytes | None:
    """Return a result in a compact form, with a check sum; None if it must not be stored.

    This is the case if a name is not valid Unicode, or if the result depends on the caller.

    Reading fails with TOO_DEEP depending on how deep the caller already is, so another caller may
    succeed.
    """
    if isinstance(result, Unread) and result.reason == TOO_DEEP:
        return None
    try:
        packed = zlib.compress(orjson.dumps(_plain(result)), 6)
    except TypeError:
        return None
    return _check_sum(key, packed) + packed


def unpack(key: bytes, packed: bytes) -> Script | Unread | None:
    """Return a packed result; None if it is damaged or belongs to another key."""
    if not is_intact(key, packed):
        return None
    plain = orjson.loads(zlib.decompress(packed[_CHECK:]))
    return Unread(plain) if isinstance(plain, str) else _script(plain)


def is_intact(key: bytes, packed: bytes) -> bool:
    """Return True if a packed result has the check sum of its key and content."""
    return packed[:_CHECK] == _check_sum(key, packed[_CHECK:])


def _check_sum(key: bytes, packed: bytes) -> bytes:
    return blake2b(packed, digest_size=_CHECK, key=key).digest()


def _plain(result: Script | Unread) -> Any:
    """Return a result as JSON, in which numbers stand for repeated tables, kinds and origins.

    The order of the elements is that in which `_script` reads them back.
    """
    if isinstance(result, Unread):
        return result.reason
    tables, kinds, origins = _Numbers[Table](), _Numbers[Kind](), _Numbers[Origin]()
    written = []
    for table, own in result.written:
        columns = [[name, origins.of_all(found)] for name, found in own.columns]
        flags = own.has_all_columns + 2 * own.has_unknown_columns
        sources = tables.of_all(own.sources)
        row = [tables.of(table), sources, columns, origins.of_all(own.rows), flags]
        written.append([*row, sorted(own.unplaced)])
    used = [[tables.of(table), name] for table, name in sorted(result.used)]
    # most columns are spelled in lower case: a list of these is shorter than a mapping
    spellings = {name: own for name, own in result.spellings.items() if name != own}
    same = [name for name, own in result.spellings.items() if name == own]
    between = [tables.of_all(sorted(found)) for found in (result.passed, result.replaced)]
    changes = [[tables.of(item.table), *item[1:]] for item in result.changes]
    rest = [result.is_complete, spellings, same, result.skipped, changes, *between]
    flat = [[tables.of(own.table), own.column, kinds.of(own.kind)] for own in origins.items]
    return [list(tables.items), [tuple(kind) for kind in kinds.items], flat, written, used, *rest]


def _script(plain: Any) -> Script:
    """Return the result that `_plain` converted to JSON."""
    tables = [(database, schema, name) for database, schema, name in plain[0]]
    kinds = [Kind(*kind) for kind in plain[1]]
    origins = [Origin(tables[table], column, kinds[kind]) for table, column, kind in plain[2]]

    def of(numbers: Iterable[int]) -> Origins:
        return frozenset(origins[number] for number in numbers)

    written = tuple(
        (
            tables[table],
            Written(
                frozenset(tables[source] for source in sources),
                tuple((name, of(found)) for name, found in columns),
                of(rows),
                bool(flags & 1),
                bool(flags & 2),
                frozenset(unplaced),
            ),
        )
        for table, sources, columns, rows, flags, unplaced in plain[3]
    )
    used = frozenset((tables[table], name) for table, name in plain[4])
    is_complete, spellings, same, skipped, changes, *between = plain[5:]
    spelled = {**spellings, **{n: n for n in same}}
    passed, replaced = (frozenset(tables[number] for number in found) for found in between)
    changed = tuple(
        ColumnChange(tables[table], kind, tuple(names), is_certain)
        for table, kind, names, is_certain in changes
    )
    return Script(written, used, is_complete, spelled, tuple(skipped), passed, replaced, changed)


class _Numbers(Generic[Item]):
    """Numbers of items, in the order of their first use."""

    def __init__(self) -> None:
        self.items: dict[Item, int] = {}

    def of(self, item: Item) -> int:
        """Return the number of an item."""
        return self.items.setdefault(item, len(self.items))

    def of_all(self, items: Iterable[Item]) -> list[int]:
        """Return the numbers of some items."""
        return [self.of(item) for item in items]


class Results:
    """A thread-safe cache of packed results by key. The least recently used ones are removed."""

    def __init__(self, most: int) -> None:
        """Create a cache whose results have at most `most` bytes."""
        self._most, self._size = most, 0
        self._packed: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: bytes) -> bool:
        return key in self._packed

    def packed(self, key: bytes) -> bytes | None:
        """Return the packed result of a key; None if it is unknown."""
        return self._packed.get(key)

    def add(self, key: bytes, packed: bytes) -> None:
        """Add a packed result."""
        with self._lock:
            self._remove(key)
            self._packed[key] = packed
            self._size += len(packed) + _ENTRY
            while self._size > self._most:
                self._remove(next(iter(self._packed)))

    def remove(self, key: bytes) -> None:
        """Remove a result, if there is one."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: bytes) -> None:
        packed = self._packed.pop(key, None)
        if packed is not None:
            self._size -= len(packed) + _ENTRY

    def get(self, key: bytes, read: Callable[[], Script | Unread]) -> Script | Unread:
        """Return the result of a key; `read` computes it if it is unknown or damaged.

        `read` runs without the lock, so several threads may read one text. Its result is kept
        unless it must not be stored.
        """
        with self._lock:
            packed = self._packed.get(key)
            if packed is not None:
                self._packed.move_to_end(key)
        found = unpack(key, packed) if packed is not None else None
        if found is not None:
            return found
        result = read()
        if (new := pack(key, result)) is not None:
            self.add(key, new)
        return result


_ENTRY = 200
"""Approximate memory of an entry besides its packed result, in bytes."""

RESULTS = Results(200_000_000)
"""The results of this process."""
