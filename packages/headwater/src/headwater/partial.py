"""A partial state: it has only the events of the log that a query needs.

A query that reads a record with missing events continues with the events that are loaded. The key
of the record is added to `Loaded.missing`. Its answer must not be used: the caller loads the
missing keys and repeats the query, until no key is missing. A query that reads all records at once
raises WholeStateError, because only the whole state can answer it.

Names of datasets are joined under one *primary name*; a record has a reported name. A *key* is what
the log is searched by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, KeysView, Set
from typing import Any, Generic, Literal, TypeVar

from headwater.events import JobRef
from headwater.identity import DatasetName, Identity
from headwater.projection import RunKey, State

RecordKey = TypeVar("RecordKey")
Record = TypeVar("Record")

Way = Literal["up", "down"]

Key = tuple[str, ...]
"""A part of a state: its kind, and what identifies it within the kind."""

NamesStated = Callable[[float, float], Set[DatasetName]]
"""A function that returns the names that events between two times (µs) state for the first time.

These include names that events stated before, but not together for one dataset.
"""

_UNKNOWN: Key = ("unknown",)
"""The key of records that are only read from the whole state."""


def job_key(ref: JobRef) -> Key:
    """Return the key of a job."""
    return ("job", *ref)


def dataset_key(name: DatasetName) -> Key:
    """Return the key of the record of a dataset under one name."""
    return ("dataset", *name)


def run_key(run_id: str) -> Key:
    """Return the key of the events that name a run id, as their own, as parent or as root."""
    return ("run", run_id)


def own_key(run_id: str) -> Key:
    """Return the key of the events of a run, without those of others that name it."""
    return ("own", run_id)


def table_key(table: str) -> Key:
    """Return the key of the SQL texts that change a table; `table` is in lower case."""
    return ("table", table)


def name_key(name: DatasetName) -> Key:
    """Return the key of the facts about a name: the datasets that it was reported for."""
    return ("name", *name)


def folder_key(folder: DatasetName) -> Key:
    """Return the key of the names in a folder."""
    return ("folder", *folder)


def schemas_key(namespace: str) -> Key:
    """Return the key of the schemas that the jobs of a namespace use."""
    return ("schemas", namespace)


def ending_key(text: str) -> Key:
    """Return the key of the names of jobs and datasets that end like a text.

    The end is the part after the last `.`, `/` or `:`.
    """
    return ("ending", re.split(r"[./:]", text)[-1])


def walk_key(way: Way, type_: str, name: JobRef | DatasetName) -> Key:
    """Return the key of all that may be upstream or downstream of a node of a type."""
    return ("walk", way, type_, *name)


class WholeStateError(Exception):
    """A query needs the whole state, or more of it than is worthwhile to load in parts."""


class Loaded:
    """The keys whose events are all in a state, and those that a query missed."""

    def __init__(self) -> None:
        self.keys: set[Key] = set()
        self.missing: set[Key] = set()
        self.is_reading = False
        """False while events are applied, which reads records as well."""

    def require(self, key: Key) -> None:
        """Register that a query reads the record of a key; if it is not loaded, it is missing."""
        if self.is_reading and key not in self.keys:
            if key == _UNKNOWN:
                raise WholeStateError
            self.missing.add(key)

    def require_all(self) -> None:
        """Raise WholeStateError if a query reads all records."""
        if self.is_reading:
            raise WholeStateError


class Records(dict[RecordKey, Record], Generic[RecordKey, Record]):
    """Records of a partial state; `key_of` returns the key of a record.

    Each look-up registers the key; anything that reads all records raises WholeStateError.
    """

    def __init__(self, loaded: Loaded, key_of: Callable[[Any], Key]) -> None:
        super().__init__()
        self._loaded, self._key_of = loaded, key_of

    def __getitem__(self, key: RecordKey) -> Record:
        self._loaded.require(self._key_of(key))
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._loaded.require(self._key_of(key))
        return super().__contains__(key)

    def get(self, key: RecordKey, default: Any = None) -> Any:
        """Return the record of a key, or a default value."""
        self._loaded.require(self._key_of(key))
        return super().get(key, default)

    def keys(self) -> Any:
        """Return a view whose members are looked up one by one."""
        return KeysView(self)

    def __bool__(self) -> bool:
        return True  # a test for an empty dict only saves a look-up

    def __iter__(self) -> Iterator[RecordKey]:
        self._loaded.require_all()
        return super().__iter__()

    def __len__(self) -> int:
        self._loaded.require_all()
        return super().__len__()

    def values(self) -> Any:
        """Return all records."""
        self._loaded.require_all()
        return super().values()

    def items(self) -> Any:
        """Return all records with their keys."""
        self._loaded.require_all()
        return super().items()


class PartialIdentity(Identity):
    """The names of the datasets whose facts were loaded."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        super().__init__()

    def _require(self, name: DatasetName) -> None:
        self._loaded.require(name_key(name))

    def __contains__(self, name: DatasetName) -> bool:
        self._require(name)
        return super().__contains__(name)

    def __iter__(self) -> Iterator[DatasetName]:
        self._loaded.require_all()
        return super().__iter__()

    def __len__(self) -> int:
        self._loaded.require_all()
        return super().__len__()

    @property
    def symlinks(self) -> Set[tuple[DatasetName, DatasetName]]:
        """The pairs of names that producers reported for one dataset."""
        self._loaded.require_all()
        return super().symlinks

    def links(self) -> Iterator[tuple[DatasetName, DatasetName]]:
        """Yield the pairs of names that producers reported, without those that users separated."""
        self._loaded.require_all()
        return super().links()

    def shared_names(self) -> list[DatasetName]:
        """Return the local names that several datasets report as a symlink."""
        self._loaded.require_all()
        return super().shared_names()

    def primary(self, name: DatasetName) -> DatasetName:
        """Return the primary name of a dataset, under which it is shown."""
        self._require(name)
        return super().primary(name)

    def table_name(self, name: DatasetName) -> DatasetName | None:
        """Return the primary name of a dataset if a TABLE symlink reports it, else None."""
        self._require(name)
        return super().table_name(name)

    def names(self, name: DatasetName) -> list[DatasetName]:
        """Return all names of a dataset, the primary one first."""
        self._require(name)
        return super().names(name)

    def datasets(self, name: DatasetName) -> list[DatasetName]:
        """Return the primary names of the datasets with a name: several if it is a shared alias."""
        self._require(name)
        return super().datasets(name)

    def is_local(self, name: DatasetName) -> bool:
        """Return True for a local name, unless a location in its warehouse makes it unique."""
        self._require(name)
        return super().is_local(name)

    def is_stated(self, one: DatasetName, other: DatasetName) -> bool:
        """Return True if a user or a rule joined two names."""
        self._require(one)
        self._require(other)
        return super().is_stated(one, other)

    def anchors(self, name: DatasetName) -> Set[DatasetName]:
        """Return the names that a local name is a symlink of."""
        self._require(name)
        return super().anchors(name)

    def places(self, name: DatasetName) -> list[DatasetName]:
        """Return the primary names of the datasets that report a local name as a symlink."""
        self._require(name)
        return super().places(name)


class PartialState(State):
    """A state whose records are read through `Records`."""

    __slots__ = ("_jobs_ending", "_loaded", "_names_ending", "names_stated")

    def __init__(self, loaded: Loaded, names_stated: NamesStated) -> None:
        super().__init__(
            jobs=Records(loaded, job_key),
            runs=Records(loaded, _key_of_run),
            runs_by_id=Records(loaded, run_key),
            datasets=Records(loaded, dataset_key),
            files=Records(loaded, folder_key),
            exposed=Records(loaded, job_key),
            named_by=Records(loaded, job_key),
            table_changes=Records(loaded, _key_of_run),
            changes_by_table=Records(loaded, table_key),
            schemas=Records(loaded, schemas_key),
            namespaces=Records(loaded, _no_key),
            identity=PartialIdentity(loaded),
            is_past=True,
        )
        self._loaded = loaded
        self.names_stated = names_stated
        self._jobs_ending: Records[str, set[JobRef]] = Records(loaded, ending_key)
        self._names_ending: Records[str, set[DatasetName]] = Records(loaded, ending_key)

    def add_ending(self, ending: str, name: JobRef | DatasetName) -> None:
        """Add a name of a job or a dataset, by its last part."""
        if isinstance(name, JobRef):
            self._jobs_ending.setdefault(ending, set()).add(name)
        else:
            self._names_ending.setdefault(ending, set()).add(name)

    def will_walk(self, way: Way, type_: str, namespace: str, name: str) -> None:
        """Load all that may be upstream or downstream of a node at once, which saves time."""
        self._loaded.require(walk_key(way, type_, DatasetName(namespace, name)))

    def ending_like(self, text: str) -> tuple[set[JobRef], set[DatasetName]]:
        """Return the jobs and the names of datasets that end like a text, and possibly others."""
        _, ending = ending_key(text)
        return self._jobs_ending.get(ending, set()), self._names_ending.get(ending, set())

    def derivations(self) -> list[tuple[DatasetName, bytes]]:
        """Return the packed facets of datasets with stated sources, whose events are all loaded."""
        found = ((record.name, record.derivation) for record in dict.values(self.datasets))
        return [(name, stated[1]) for name, stated in found if stated is not None]


def _key_of_run(key: RunKey) -> Key:
    return run_key(key.run_id)


def _no_key(_name: str) -> Key:
    return _UNKNOWN
