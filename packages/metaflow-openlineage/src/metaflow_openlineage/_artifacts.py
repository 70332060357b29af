"""Which artifacts a step read and wrote: a new content was written, a loaded one was read."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._dataset import fields_of

# Beyond this, an artifact that was loaded, not replaced and stored anew counts as unchanged.
MAX_COMPARED_BYTES = 64_000_000

# How the types of plain values begin, after `<class '`.
_PLAIN = ("NoneType'", "bool'", "int'", "float'", "complex'", "str'", "datetime.", "uuid.UUID'")
_NUMPY = ("numpy.bool", "numpy.str_", "numpy.int", "numpy.uint", "numpy.float", "numpy.datetime64")
_OTHER = ("decimal.Decimal'", "metaflow.exception.MetaflowExceptionWrapper'")
_RESERVED = frozenset({"name", "input", "index"})


@dataclass(frozen=True)
class Options:
    """Which artifacts are datasets, and which of those are models; the decorator's arguments."""

    models: Collection[str] | None = None
    include: Collection[str] = ()
    exclude: Collection[str] = ()

    def is_dataset(self, name: str, stored_type: str) -> bool:
        """Plain scalars are values, and private names are the flow's own: neither is a dataset."""
        if name.startswith("_") or name in _RESERVED or name in self.exclude:
            return False
        scalar = stored_type.removeprefix("<class '").startswith(_PLAIN + _NUMPY + _OTHER)
        return name in self.include or not scalar

    def dataset_type(self, name: str) -> str:
        """MODEL for the declared models, by default `model` and `…_model`; else JOB_OUTPUT."""
        by_name = name == "model" or name.endswith("_model")
        return (
            "MODEL" if (by_name if self.models is None else name in self.models) else "JOB_OUTPUT"
        )


@dataclass(frozen=True)
class Seen:
    """An artifact as it was in memory; `identity` is its id(), so that nothing is kept alive."""

    identity: int
    fields: tuple[tuple[str, str], ...] = ()
    rows: int | None = None
    store: Any = None  # the task datastore it was loaded from

    @classmethod
    def of(cls, value: Any, store: Any = None) -> Seen:
        """Describe a value without holding on to it."""
        fields = fields_of(value)
        return cls(id(value), fields, len(value) if fields else None, store)


@dataclass(frozen=True)
class Stored:
    """An artifact as its datastore describes it."""

    sha: str
    type: str = ""
    size: int | None = None
    seen: Seen | None = None


def stored_in(store: Any) -> dict[str, Stored]:
    """The artifacts of a Metaflow task datastore."""
    data = store.ds_metadata
    about = {name: data["info"].get(name, {}) for name in data["objects"]}
    return {
        name: Stored(sha, about[name].get("type", ""), about[name].get("size"))
        for name, sha in data["objects"].items()
    }


class WatchedStore:
    """A task datastore that tells which artifacts are taken from it; otherwise that datastore."""

    def __init__(self, store: Any, loads: dict[tuple[str, str], Seen]) -> None:
        self._store = store
        self._loads = loads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def __contains__(self, name: str) -> bool:
        return name in self._store

    def __iter__(self) -> Iterator[Any]:
        return iter(self._store)

    def __getitem__(self, name: str) -> Any:
        value = self._store[name]
        sha = None if name.startswith("_") else self._store.ds_metadata["objects"].get(name)
        if sha is not None:
            self._loads[name, sha] = Seen.of(value, self._store)
        return value


def read_and_written(
    upstream: Mapping[str, Collection[str]],
    loads: Mapping[tuple[str, str], Seen],
    assigned: Mapping[str, Seen],
    stored: Mapping[str, Stored],
    unchanged: Callable[[str, str], bool],
) -> tuple[list[tuple[str, str]], list[str]]:
    """Tell the (name, sha) pairs a step read from the names it wrote.

    Storing a loaded artifact again can change its bytes, hence its sha, though nothing changed it:
    while the object in place is the one loaded, `unchanged(name, loaded sha)` decides.
    """
    read = [(name, sha) for name, sha in loads if sha in upstream.get(name, ())]
    written = []
    for name, content in stored.items():
        place = assigned[name].identity if name in assigned else None
        still_there = [key for key in read if key[0] == name and loads[key].identity == place]
        inherited = content.sha in upstream.get(name, ())
        if not inherited and not any(unchanged(*key) for key in still_there):
            written.append(name)
    return read, written


def equal_content(one: Any, other: Any) -> bool:
    """Whether two unpickled values say the same, by the cheapest test that can tell."""
    equals = getattr(one, "equals", None)
    if callable(equals):
        return bool(equals(other))
    try:
        same = (one == other) is True
    except Exception:  # an array inside a container has no single truth value
        same = False
    return same or pickle.dumps(one) == pickle.dumps(other)
