"""A state kept in the log's database, so that a start need not project every event again.

It is a pickle, and a pickle may name any function to call: ours is read by a reader that knows the
classes of a state and nothing else. Whatever cannot be read is passed over: the log is the truth.
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
from typing import Any

from throughline.identity import DatasetName, Identity
from throughline.log import EventLog, Snapshots
from throughline.projection.facets import FacetBook, Stamp
from throughline.projection.state import (
    DatasetRecord,
    Declared,
    Dependency,
    Job,
    Run,
    RunKey,
    State,
    Use,
)
from throughline.spec import EventType, JobRef

log = logging.getLogger(__name__)

_BY_FIELDS = (State, Job, Run, Use, Declared, DatasetRecord)
_MADE_OF = (*_BY_FIELDS, FacetBook, Identity, Stamp, RunKey, Dependency, DatasetName, JobRef)
_CLASSES = {(class_.__module__, class_.__qualname__): class_ for class_ in (*_MADE_OF, EventType)}
_ROOMS = ("spec", "identity", "projection")  # all that is between the text of an event and a state


@contextmanager
def uncollected() -> Iterator[None]:
    """Have no garbage looked for while a state is made: of all that comes hardly anything goes.

    It would take longer than the rest, as each time all that is there is looked through.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()


def save(log: EventLog, state: State, seq: int) -> None:
    """Keep the state of all events up to `seq`, without what depends on when it is looked at."""
    plain = replace(state, now=0, silent_before=0, is_past=False)
    plain = replace(plain, derived={}, touched=set(), generations=None)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        _Writer(file, protocol=5).dump(plain)
    Snapshots(log).add(seq, _format(), packed.getvalue())


def restored(
    event_log: EventLog, as_of: int | None = None, known_at: int | None = None
) -> tuple[State, int]:
    """The newest state kept that holds nothing later, and the `seq` that it reaches.

    An empty one and 0 if there is none, or if it cannot be used.
    """
    snapshots = Snapshots(event_log)
    seq, format_ = snapshots.newest(as_of, known_at)
    if not seq:
        return State(), 0
    data = snapshots.data(seq)
    try:
        if format_ != _format():
            raise pickle.UnpicklingError("another version of throughline made it")
        return _unpacked(data), seq
    except Exception as error:  # of what is not a pickle of ours, it may be any
        log.warning(
            "the log is read from its start, as the snapshot of it up to event %d cannot be used"
            " (%s); a server makes a new one, and `throughline rebuild --database` drops it",
            seq,
            error or type(error).__name__,
        )
        return State(), 0


def _unpacked(data: bytes) -> State:
    with uncollected(), gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        state = _Reader(file).load()
        file.read()  # to the end, where the checksum is
    if not isinstance(state, State):
        raise pickle.UnpicklingError(f"it holds a {type(state).__name__}")
    return state


class _Writer(pickle.Pickler):
    # Both sides keep every dict and tuple that they meet until they are done. By default an object
    # is a dict of its fields, which takes more than the object; so it is a call with their values.
    dispatch_table = {
        **dict.fromkeys(_BY_FIELDS, lambda value: _by_fields(value)),
        FacetBook: lambda book: (FacetBook, (book.flat,) if book.flat else ()),
        EventType: lambda type_: (EventType, (type_.value,)),  # before 3.11.4 it refers to getattr
    }


def _by_fields(value: Any) -> tuple[type, tuple[Any, ...]]:
    return type(value), tuple(getattr(value, name) for name in value.__slots__)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        """Only what a state is made of."""
        found = _CLASSES.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no part of a state")
        return found


@cache
def _format() -> str:
    """What is different as soon as an event could make another state, or a state look different.

    A digest of the code that makes it, as nobody can forget to count that up. A change that makes
    no difference costs one slow start.
    """
    digest = hashlib.sha256()
    for room in _ROOMS:
        files = resources.files(f"throughline.{room}").iterdir()
        for file in sorted(files, key=lambda each: each.name):
            if file.is_file():
                digest.update(file.read_bytes())
    return digest.hexdigest()
