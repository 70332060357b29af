"""Snapshots of the state in the log's database, so that a start need not project every event.

A snapshot is a pickle, and a pickle can call any function. It is therefore read by an unpickler
that allows only the classes of a state. A snapshot that cannot be read is ignored.

A snapshot contains the events up to its `seq`, a number that the log gives each event on arrival.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import io
import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from headwater.events import EventType, JobRef
from headwater.events.facets import Reference
from headwater.identity import DatasetName, Identity, Union
from headwater.log import EventLog
from headwater.projection.facet_books import FacetBook, Stamp
from headwater.projection.snapshots._table import Snapshots
from headwater.projection.state import (
    DatasetRecord,
    Declared,
    Job,
    LifecycleChange,
    Run,
    RunKey,
    State,
    StatedChange,
    Use,
    Version,
)  # fmt: skip
from headwater.recent import Changes

log = logging.getLogger(__name__)

_BY_FIELDS = (State, Job, Run, Use, Declared, DatasetRecord)
_TUPLES = (Stamp, Version, StatedChange, LifecycleChange, RunKey, Reference, DatasetName, JobRef)
_STATE_CLASSES = (*_BY_FIELDS, *_TUPLES, FacetBook, Identity, Union, Changes)
_CLASSES = {
    (class_.__module__, class_.__qualname__): class_ for class_ in (*_STATE_CLASSES, EventType)
}
_PACKAGES = ("events", "identity", "projection", "projection.snapshots", "sql")
"""All code that turns events into a state."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection while a state is built.

    Almost no object becomes garbage, and scanning them all repeatedly takes longer than the build.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()


def save(log: EventLog, state: State, seq: int) -> None:
    """Store the state of all events up to `seq`, without values that depend on the present."""
    stored = replace(state, now=0, stale_before=0, is_past=False, derived={}, generations=None)
    stored.kept = {}
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as file:
        _Writer(file, protocol=5).dump(stored)
    Snapshots(log).add(seq, _format(), buffer.getvalue())


def restore(
    event_log: EventLog, as_of: int | None = None, known_at: int | None = None
) -> tuple[State, int]:
    """Return the newest stored state without later events, and its last `seq`.

    Without a usable snapshot, return an empty state and 0.
    """
    snapshots = Snapshots(event_log)
    seq, format_ = snapshots.newest(as_of, known_at)
    if not seq:
        return State(), 0
    data = snapshots.data(seq)
    try:
        if format_ != _format():
            raise pickle.UnpicklingError("it was created by another version of headwater")
        return _decode(data), seq
    except Exception as error:  # an invalid pickle can raise any exception
        log.warning(
            "the snapshot up to event %d cannot be used (%s), so the whole log is read;"
            " the server creates a new one, and `headwater repair --yes --database` deletes it",
            seq,
            error or type(error).__name__,
        )
        return State(), 0


def _decode(data: bytes) -> State:
    """Return the state in the data of a snapshot; raise an error if it is damaged or no state."""
    with gc_paused(), gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        state = _Reader(file).load()
        file.read()  # verifies the checksum at the end
    if not isinstance(state, State):
        raise pickle.UnpicklingError(f"it contains a {type(state).__name__}")
    return state


class _Writer(pickle.Pickler):
    # Pickler and unpickler keep every dict and tuple in memory until the end. The default form of
    # an object is a dict of its fields, larger than the object, so it is a call with their values.
    dispatch_table = {
        **dict.fromkeys(_BY_FIELDS, lambda value: _fields_of(value)),
        Changes: lambda _: (Changes, ()),  # nothing was read from a restored state before
        FacetBook: lambda book: (FacetBook, (tuple(book),)),
        EventType: lambda type_: (EventType, (type_.value,)),  # before 3.11.4 it refers to getattr
    }


def _fields_of(value: Any) -> tuple[type, tuple[Any, ...]]:
    """Return a class and the arguments that create an equal object: its fields in order."""
    return type(value), tuple(getattr(value, name) for name in value.__slots__)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        """Return a class of a state; reject everything else."""
        class_ = _CLASSES.get((module, name))
        if class_ is None:
            raise pickle.UnpicklingError(
                f"it contains {module}.{name}, which is no part of a state"
            )
        return class_


@cache
def _format(root: Traversable | None = None) -> str:
    """Return the snapshot format: a digest of the code that turns events into a state.

    Unlike a version number, nobody can forget to change it. An irrelevant change costs one slow
    start. `root` is the folder of the code, by default that of this package.
    """
    digest = hashlib.sha256()
    for package in _PACKAGES:
        folder = (root or resources.files("headwater")).joinpath(*package.split("."))
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.is_file():
                digest.update(file.read_bytes())
    return digest.hexdigest()
