"""Facets in memory: as JSON, shared between equal ones, compressed if long.

Decoded they would take ten times as much memory, and most of them are never read. A *packed* facet
is JSON, the same compressed, or `L` and compressed JSON if it is large. The first byte shows which:
`{` is JSON. A *stamp* is (event time in microseconds, event hash): of two facets of one name, that
with the greater stamp wins.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Set
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import orjson

from headwater.events import ColumnLineage, Facets, Json, parse_columns, reports_indirect
from headwater.events.facets import Facet

Model = TypeVar("Model", bound=Facet)
Value = TypeVar("Value")

_EMPTY = b"{}"
_LONG = 400  # bytes from which compression saves memory
_LARGE = 64 * 1024
"""Bytes of JSON above which only a few facets are cached."""
_LARGE_MARK = b"L"


class Stamp(NamedTuple):
    """The order of events that decides between two values: time, then hash."""

    time: int
    hash: str


@lru_cache(maxsize=4_096)
def _interned(text: bytes) -> bytes:
    """Return one shared object for equal facets, among the recent ones."""
    return text if len(text) < _LONG else zlib.compress(text, 1)


@lru_cache(maxsize=64)
def _shared(packed: bytes) -> bytes:
    """Return one shared object for equal large facets, among the recent ones."""
    return packed


def pack(facet: Json) -> bytes:
    """Encode a facet for storage in memory."""
    text = orjson.dumps(facet)
    if len(text) > _LARGE:
        return _shared(_LARGE_MARK + zlib.compress(text, 1))
    # A copy: orjson's result keeps its whole write buffer alive, which is often ten times as large.
    return _interned(bytes(memoryview(text)))


def unpack(packed: bytes) -> Json:
    """Decode a packed facet; the result is shared and must not be changed."""
    if packed[:1] == _LARGE_MARK:
        facet: Json = orjson.loads(zlib.decompress(memoryview(packed)[1:]))
        return facet
    return _unpacked(packed)


@lru_cache(maxsize=2_048)
def _unpacked(packed: bytes) -> Json:
    facet: Json = orjson.loads(packed if packed[:1] == b"{" else zlib.decompress(packed))
    return facet


def parsed(packed: bytes, parse: Callable[[Json], Value]) -> Value:
    """Return a packed facet parsed by a function; once for equal facets, among the recent ones."""
    cached = _parsed_large if packed[:1] == _LARGE_MARK else _parsed
    value: Value = cached(packed, parse)
    return value


def _parse(packed: bytes, parse: Callable[[Json], Any]) -> Any:
    return parse(unpack(packed))


_parsed = lru_cache(maxsize=8_192)(_parse)
_parsed_large = lru_cache(maxsize=16)(_parse)


class FacetBook(tuple[Any, ...]):
    """Facets by name, where the newest wins; immutable.

    Every run has several books of few facets. A book is one flat tuple of names, stamps and packed
    facets, which takes a third of the memory of a dict of pairs. Empty ones are one object.
    """

    __slots__ = ()

    def put(self, facets: Facets, stamp: Stamp, shared: FacetBook | None = None) -> FacetBook:
        """Return a book with the facets of one event, too.

        For each name, the facet with the greatest stamp stays. A facet that equals that of
        `shared`, by default this book, becomes the same object: most runs of a job report equal
        facets, often long after each other.
        """
        if not facets:
            return self
        stamped, known = self.stamped(), self if shared is None else shared
        for name, facet in facets.items():
            if name not in stamped or stamp > stamped[name][0]:
                packed, before = pack(facet), known.packed(name)
                stamped[name] = (stamp, before if packed == before else packed)
        return FacetBook(part for name, value in stamped.items() for part in (name, *value))

    def packed(self, name: str) -> bytes:
        """Return the newest facet of that name, packed; an empty one if there is none."""
        found: bytes = self[self.index(name) + 2] if name in self else _EMPTY
        return found

    def get(self, name: str) -> Json:
        """Return the newest facet of that name; empty if there is none."""
        return unpack(self.packed(name))

    def parsed(self, model: type[Model]) -> Model:
        """Return the newest facet of a model; one without values if there is none.

        `model.KEY` is the name of the facet. Equal facets are parsed once, among the recent ones.
        """
        return parsed(self.packed(model.KEY), model.parse)

    def column_lineage(self) -> ColumnLineage:
        """Return the newest columnLineage facet; empty if there is none."""
        return parsed(self.packed("columnLineage"), parse_columns)

    def reports_indirect(self) -> bool:
        """Return True if the producer of the columnLineage facet reports indirect columns."""
        return parsed(self.packed("columnLineage"), reports_indirect)

    def stamp_of(self, name: str) -> Stamp | None:
        """Return the stamp of the newest facet of that name."""
        return self.stamped()[name][0] if name in self else None

    def has_any(self, names: Set[str]) -> bool:
        """Return True if there is a facet of one of the names."""
        return bool(self) and not names.isdisjoint(self[::3])

    def stamped(self) -> dict[str, tuple[Stamp, bytes]]:
        """Return every packed facet by name, with its stamp."""
        return {self[i]: (self[i + 1], self[i + 2]) for i in range(0, len(self), 3)}

    def plain(self) -> Facets:
        """Return every facet by name."""
        return {name: unpack(packed) for name, (_, packed) in sorted(self.stamped().items())}


NO_FACETS = FacetBook()
