"""Facets as they are held in memory: as JSON, once for equal ones, and packed when they are long.

Decoded they would take ten times as much, and most of them are never asked for.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from throughline.spec import (
    ColumnLineage,
    DatasetId,
    Entry,
    Facets,
    parse_columns,
    parse_derivation,
    parse_entries,
)

_LONG = 400  # bytes from which packing pays


class Stamp(NamedTuple):
    """The place of an event in the order that decides between two values: time, then hash."""

    time: int
    hash: str


@lru_cache(maxsize=4_096)
def _held(text: bytes) -> bytes:
    """The one object for equal facets, among those seen of late."""
    return text if len(text) < _LONG else zlib.compress(text, 1)


def pack(facet: dict[str, Any]) -> bytes:
    """A facet as it is held."""
    # A copy: what orjson returns keeps the whole buffer it was written to, often ten times as long.
    return _held(bytes(memoryview(orjson.dumps(facet))))


@lru_cache(maxsize=2_048)
def unpack(held: bytes) -> dict[str, Any]:
    """A facet again; it is shared, so it must not be changed."""
    facet: dict[str, Any] = orjson.loads(held if held[:1] == b"{" else zlib.decompress(held))
    return facet


@lru_cache(maxsize=2_048)
def _parsed_columns(held: bytes) -> ColumnLineage:
    return parse_columns(unpack(held))


@lru_cache(maxsize=2_048)
def entries_of(held: bytes) -> tuple[Entry, ...]:
    """Return the entries of a packed explicit lineage facet of a job."""
    return parse_entries(unpack(held))


@lru_cache(maxsize=2_048)
def derivation_of(held: bytes, target: DatasetId) -> Entry:
    """Return the entry of a packed explicit lineage facet of a dataset."""
    return parse_derivation(unpack(held), target)


class FacetBook:
    """Facets by name, each a register.

    There are several for each run, of few facets each: they lie in one flat tuple of names, stamps
    and packed facets, which takes a third of what a dict of pairs does.
    """

    __slots__ = ("_flat",)

    def __init__(self, flat: tuple[Any, ...] = ()) -> None:
        self._flat = flat

    def put(self, facets: Facets, stamp: Stamp) -> None:
        """Note the facets of one event."""
        if not facets:
            return
        held = self.stamped()
        for name, facet in facets.items():
            if name not in held or stamp > held[name][0]:
                held[name] = (stamp, pack(facet))
        self._flat = tuple(part for name, value in held.items() for part in (name, *value))

    def get(self, name: str) -> dict[str, Any]:
        """The newest facet of that name, empty when there is none."""
        return unpack(self._flat[self._flat.index(name) + 2]) if name in self._flat else {}

    def column_lineage(self) -> ColumnLineage:
        """Return the newest columnLineage facet, parsed; without a facet, an empty one."""
        name = "columnLineage"
        held = self._flat[self._flat.index(name) + 2] if name in self._flat else b"{}"
        return _parsed_columns(held)

    def stamp_of(self, name: str) -> Stamp | None:
        """The stamp of the event that the newest facet of that name came with."""
        return self.stamped()[name][0] if name in self._flat else None

    def stamped(self) -> dict[str, tuple[Stamp, bytes]]:
        """Every facet, packed, with the stamp of the event it came with."""
        flat = self._flat
        return {flat[i]: (flat[i + 1], flat[i + 2]) for i in range(0, len(flat), 3)}

    @property
    def flat(self) -> tuple[Any, ...]:
        """What a book like this one is made from."""
        return self._flat

    def plain(self) -> Facets:
        """Every facet by its name."""
        return {name: unpack(held) for name, (_, held) in sorted(self.stamped().items())}
