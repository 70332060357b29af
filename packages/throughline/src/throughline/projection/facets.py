"""Facets as they are held in memory: as JSON, once for equal ones, and packed when they are long.

Decoded they would take ten times as much, and most of them are never asked for.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from throughline.spec import Facets

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


class FacetBook:
    """Facets by name, each a register."""

    __slots__ = ("_facets",)

    def __init__(self, facets: dict[str, tuple[Stamp, bytes]] | None = None) -> None:
        self._facets = facets

    def put(self, facets: Facets, stamp: Stamp) -> None:
        """Note the facets of one event."""
        if not facets:
            return
        if self._facets is None:
            self._facets = {}
        for name, facet in facets.items():
            held = self._facets.get(name)
            if held is None or stamp > held[0]:
                self._facets[name] = (stamp, pack(facet))

    def get(self, name: str) -> dict[str, Any]:
        """The newest facet of that name, empty when there is none."""
        held = self._facets.get(name) if self._facets else None
        return unpack(held[1]) if held else {}

    def stamp_of(self, name: str) -> Stamp | None:
        """The stamp of the event that the newest facet of that name came with."""
        held = self._facets.get(name) if self._facets else None
        return held[0] if held else None

    def stamped(self) -> dict[str, tuple[Stamp, bytes]]:
        """Every facet, packed, with the stamp of the event it came with."""
        return self._facets or {}

    def plain(self) -> Facets:
        """Every facet by its name."""
        return {name: unpack(held) for name, (_, held) in sorted(self.stamped().items())}
