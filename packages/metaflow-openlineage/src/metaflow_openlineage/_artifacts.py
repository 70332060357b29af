"""Determine the artifacts that a step read and wrote.

Loaded artifacts were read; artifacts with new content were written. An artifact is an attribute
that Metaflow stores at the end of a step; its *sha* identifies the stored bytes. A *datastore* has
the artifacts of one task.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater_client.capture import bind, origin_of, paused

from ._dataset import fields_of

# A larger artifact that was loaded, not replaced and stored again counts as unchanged.
MAX_COMPARED_BYTES = 64_000_000

# Prefixes of the types of scalar values, after `<class '`.
_PLAIN = ("NoneType'", "bool'", "int'", "float'", "complex'", "str'", "datetime.", "uuid.UUID'")
_NUMPY = ("numpy.bool", "numpy.str_", "numpy.int", "numpy.uint", "numpy.float", "numpy.datetime64")
_OTHER = ("decimal.Decimal'", "metaflow.exception.MetaflowExceptionWrapper'")
_RESERVED = frozenset({"name", "input", "index"})


@dataclass(frozen=True)
class Options:
    """The decorator's arguments: which artifacts are datasets, and which of them are models."""

    models: Collection[str] | None = None
    include: Collection[str] = ()
    exclude: Collection[str] = ()

    def is_dataset(self, name: str, stored_type: str) -> bool:
        """Return True unless an artifact is a scalar, private or excluded."""
        if name.startswith("_") or name in _RESERVED or name in self.exclude:
            return False
        scalar = stored_type.removeprefix("<class '").startswith(_PLAIN + _NUMPY + _OTHER)
        return name in self.include or not scalar

    def dataset_type(self, name: str) -> str:
        """Return MODEL for declared models, by default `model` and `…_model`; else JOB_OUTPUT."""
        is_named_model = name == "model" or name.endswith("_model")
        return (
            "MODEL"
            if (is_named_model if self.models is None else name in self.models)
            else "JOB_OUTPUT"
        )


@dataclass(frozen=True)
class InMemory:
    """An artifact in memory; `identity` is its id(), so that it is not kept alive."""

    identity: int
    fields: tuple[tuple[str, str], ...] = ()
    rows: int | None = None
    store: Any = None  # the task datastore it was loaded from
    origin: tuple[tuple[str, str], ...] | None = None  # the datasets whose content it is

    @classmethod
    def of(cls, value: Any, store: Any = None) -> InMemory:
        """Describe a value without keeping a reference."""
        fields = fields_of(value)
        return cls(id(value), fields, len(value) if fields else None, store, origin_of(value))


@dataclass(frozen=True)
class Stored:
    """An artifact in its datastore."""

    sha: str
    type: str = ""
    size: int | None = None
    in_memory: InMemory | None = None


def stored_in(store: Any) -> dict[str, Stored]:
    """Return the artifacts of a Metaflow task datastore."""
    data = store.ds_metadata
    infos = {name: data["info"].get(name, {}) for name in data["objects"]}
    return {
        name: Stored(sha, infos[name].get("type", ""), infos[name].get("size"))
        for name, sha in data["objects"].items()
    }


class WatchedStore:
    """A proxy of a task datastore that records the artifacts loaded from it."""

    def __init__(
        self,
        store: Any,
        loads: dict[tuple[str, str], InMemory],
        dataset_of: Callable[[str, Any], tuple[str, str] | None],
    ) -> None:
        """Watch a store. `dataset_of` returns the dataset of an artifact with its stored type."""
        self._store = store
        self._loads = loads
        self._dataset_of = dataset_of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def __contains__(self, name: str) -> bool:
        return name in self._store

    def __iter__(self) -> Iterator[Any]:
        return iter(self._store)

    def __getitem__(self, name: str) -> Any:
        """Return an artifact, and record that it was loaded; private ones are no datasets."""
        with paused():  # its files are no datasets
            value = self._store[name]
        sha = None if name.startswith("_") else self._store.ds_metadata["objects"].get(name)
        if sha is not None:
            self._loads[name, sha] = InMemory.of(value, self._store)
            if dataset := self._dataset_of(name, self._store):
                bind(value, [dataset])
        return value


def read_and_written(
    upstream: Mapping[str, Collection[str]],
    loads: Mapping[tuple[str, str], InMemory],
    assigned: Mapping[str, InMemory],
    stored: Mapping[str, Stored],
    unchanged: Callable[[str, str], bool],
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the (name, sha) pairs that a step read, and the names that it wrote.

    `upstream` has the shas of each name in the tasks before, `loads` what was loaded, `assigned`
    the attributes at the end, and `stored` what Metaflow stored of them.

    Storing a loaded artifact again can change its bytes, and so its sha, without a change of its
    value. If the object is still the loaded one, `unchanged(name, loaded sha)` decides.
    """
    read = [(name, sha) for name, sha in loads if sha in upstream.get(name, ())]
    written = []
    for name, artifact in stored.items():
        identity = assigned[name].identity if name in assigned else None
        kept = [key for key in read if key[0] == name and loads[key].identity == identity]
        is_inherited = artifact.sha in upstream.get(name, ())
        if not is_inherited and not any(unchanged(*key) for key in kept):
            written.append(name)
    return read, written


def equal_content(one: Any, other: Any) -> bool:
    """Return True if two unpickled values are equal, by the cheapest conclusive comparison."""
    equals = getattr(one, "equals", None)
    if callable(equals):
        return bool(equals(other))
    try:
        is_equal = (one == other) is True
    except Exception:  # an array inside a container has no single truth value
        is_equal = False
    return is_equal or pickle.dumps(one) == pickle.dumps(other)
