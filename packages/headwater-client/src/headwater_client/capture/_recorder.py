"""Captures, their records, and the capture that a call belongs to.

A dataset is *consumed* if only queries that wrote tables read it. One that the capture wrote and
then read again is *read back*: it is no input, but its sources count as read. A temporary table is
no dataset; it stands for its sources. A query is *whole* if all that it reads is known.

Objects of libraries are *bound* to the datasets that they are the contents of, until they change,
so that a write of such an object knows its sources.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from headwater_client.capture._names import Name, is_temporary

MOST_DATASETS = 1_000
"""Maximum number of inputs, of outputs and of SQL texts of one capture."""
_MOST_COLUMNS = 500
_OFF = ("false", "0", "no", "off")
_VIEW = re.compile(r"\bview\b", re.IGNORECASE)
log = logging.getLogger("headwater")


@dataclass(frozen=True, slots=True)
class Captured:
    """A dataset that a library read or wrote.

    `fields` are its columns with their types, empty if unknown. `version` is a snapshot id of
    Iceberg. `sources` are the datasets that a written one comes from; None means that they are
    unknown. `is_object` marks an object of a store that was read or written below a library.
    """

    namespace: str
    name: str
    fields: tuple[tuple[str, str], ...] = ()
    version: str | None = None
    sources: tuple[Name, ...] | None = None
    is_object: bool = False

    @property
    def key(self) -> Name:
        """Return namespace and name."""
        return self.namespace, self.name


@dataclass(frozen=True, slots=True)
class CapturedQuery:
    """An SQL text that ran, with the datasets that it names; its time is that of its first run."""

    sql: str
    dialect: str
    inputs: tuple[Captured, ...]
    outputs: tuple[Captured, ...]
    is_readable: bool = True
    """False if names in the text are files or variables of Python, which no SQL parser can know."""
    is_whole: bool = True
    """False if it also reads data that is not a dataset, such as an array."""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    files: tuple[Captured, ...] = ()
    """The files that it writes. The capture also records each of them as a separate write."""

    @property
    def targets(self) -> tuple[Captured, ...]:
        """Return all tables and files that it writes."""
        return (*self.outputs, *self.files)


class Capture:
    """Records the reads and writes of libraries in a block, a function, a step or a process."""

    def __init__(
        self,
        *,
        includes_nested: bool = False,
        on_change: Callable[[Captured | CapturedQuery, str], None] | None = None,
    ) -> None:
        """Create an empty capture.

        With `includes_nested`, it also records what captures within it record. `on_change` receives
        each new record with `read`, `write` or `query`.
        """
        self.includes_nested = includes_nested
        self.parent: Capture | None = None
        self._on_change = on_change
        self._lock = threading.Lock()
        self._reads: dict[tuple[Name, str | None], Captured] = {}
        self._consumed: dict[tuple[Name, str | None], Captured] = {}
        self._writes: dict[tuple[Name, str | None], Captured] = {}
        self._queries: dict[Any, CapturedQuery] = {}
        self._written: set[Name] = set()
        self._temporary: dict[Name, tuple[Captured, ...] | None] = {}
        """The sources of temporary tables; None if they are unknown."""
        self._read_back: set[Name] = set()
        self.is_complete = True
        """False if the limit of a capture was reached."""

    def add_reads(self, datasets: Iterable[Captured]) -> None:
        """Add datasets that were read, except those that the capture wrote before."""
        items = list(datasets)
        for item in self._inputs(items):
            self._add(self._reads, (item.key, item.version), item, "read")
        if parent := self._recording_parent():
            parent.add_reads(items)

    def add_writes(self, datasets: Iterable[Captured]) -> None:
        """Add datasets that were written."""
        items = list(datasets)
        for item in items:
            self._add_write(item, "write")
        if parent := self._recording_parent():
            parent.add_writes(items)

    def add_query(self, query: CapturedQuery) -> CapturedQuery:
        """Add an SQL text with the datasets that it names, once per text and datasets.

        Its inputs are consumed if it wrote tables, else read. In the returned query, temporary
        tables are replaced by their sources.
        """
        resolved = self.resolve(query)
        inputs, outputs = resolved.inputs, resolved.outputs
        self._fill_temporary(query, resolved)
        named = inputs, outputs, resolved.files
        key = query.sql, *(tuple(item.key for item in items) for items in named)
        if key not in self._queries:
            items = self._consumed if outputs else self._reads
            for item in self._inputs(inputs, is_into_python=not outputs):
                self._add(items, (item.key, item.version), item, "")
            sources = tuple(item.key for item in inputs)
            for item in outputs:
                if sources or item.key not in self._written or not resolved.is_whole:
                    known = sources if sources and resolved.is_whole else None
                    self._add_write(replace(item, sources=known), "")
            if any(named):
                self._add(self._queries, key, resolved, "query")
        if parent := self._recording_parent():
            parent.add_query(query)
        return resolved

    def resolve(self, query: CapturedQuery) -> CapturedQuery:
        """Return a query in which the temporary tables that it reads are replaced by their sources.

        If the sources are unknown, the query is not whole.
        """
        inputs: dict[Name, Captured] = {}
        is_whole = query.is_whole
        for item in query.inputs:
            sources = self._temporary.get(item.key) if is_temporary(item.key) else (item,)
            is_whole &= sources is not None
            inputs.update((source.key, source) for source in sources or ())
        outputs = tuple(item for item in query.outputs if not is_temporary(item.key))
        has_temporary = any(is_temporary(item.key) for item in (*query.inputs, *query.outputs))
        return replace(
            query,
            inputs=tuple(inputs.values()),
            outputs=outputs,
            is_readable=query.is_readable and not has_temporary,
            is_whole=is_whole,
        )

    def _fill_temporary(self, query: CapturedQuery, resolved: CapturedQuery) -> None:
        """Store the sources of the temporary tables that a query writes.

        The sources of a view of a temporary table are unknown, because the table may change.
        """
        is_view_of_temporary = bool(_VIEW.search(query.sql)) and any(
            is_temporary(item.key) for item in query.inputs
        )
        is_known = resolved.is_whole and bool(query.inputs) and not is_view_of_temporary
        for item in query.outputs:
            if is_temporary(item.key):
                before = self._temporary.get(item.key)
                is_added = is_known and before is not None
                self._temporary[item.key] = (
                    (*(before or ()), *resolved.inputs) if is_added else None
                )

    def _inputs(self, items: Iterable[Captured], *, is_into_python: bool = True) -> list[Captured]:
        """Return the datasets that were not written before, so that they are inputs.

        Those that were are marked as read back, unless a query passes them into another table.
        """
        if is_into_python:
            for item in items:
                if item.key in self._written - self._read_back:
                    self._read_back.add(item.key)
                    self._changed(item, "read")
        return [item for item in items if item.key not in self._written]

    def _add_write(self, item: Captured, kind: str) -> None:
        """Add a written dataset; of two writes of it, with the sources of both.

        They are unknown if those of one write are. The newest write comes last.
        """
        key = item.key, item.version
        self._written.add(item.key)
        if (before := self._writes.get(key)) is not None:
            is_known = before.sources is not None and item.sources is not None
            both = tuple(dict.fromkeys((*(before.sources or ()), *(item.sources or ()))))
            item = replace(item, sources=both if is_known else None)
            if item.sources == before.sources:
                return
            del self._writes[key]
        self._add(self._writes, key, item, kind)

    def add_temporary(self, name: Name, sources: tuple[Name, ...] | None = ()) -> None:
        """Add a temporary table with its source datasets; None if they are unknown.

        The sources of a table that is created again without being dropped are unknown.
        """
        items = None if sources is None else tuple(Captured(*source) for source in sources)
        self._temporary[name] = None if name in self._temporary else items
        if parent := self._recording_parent():
            parent.add_temporary(name, sources)

    def drop_temporary(self, name: Name) -> None:
        """Forget a temporary table that was dropped."""
        self._temporary.pop(name, None)
        if parent := self._recording_parent():
            parent.drop_temporary(name)

    def _recording_parent(self) -> Capture | None:
        return self.parent if self.parent is not None and self.parent.includes_nested else None

    def _add(self, items: dict[Any, Any], key: Any, item: Any, kind: str) -> None:
        """Add a record by its key, and report it as `kind`; of two reads, the columns of both
        count.

        Records above the limit of a capture are left out, with one warning.
        """
        with self._lock:
            if (before := items.get(key)) is not None:
                item = _with_columns_of(before, item)
                if item == before:
                    return
            elif len(items) >= MOST_DATASETS:
                if self.is_complete:
                    log.warning("lineage: only the first %d datasets are recorded", MOST_DATASETS)
                self.is_complete = False
                return
            items[key] = item
        self._changed(item, kind)

    def _changed(self, item: Any, kind: str) -> None:
        if self._on_change and kind:
            self._on_change(item, kind)

    @property
    def reads(self) -> list[Captured]:
        """Return the datasets that were read, except by queries that wrote tables.

        If a table was written and then read, its sources count as read too.
        """
        reads, others = dict(self._reads), self._consumed_by_reads()
        for key, item in self._consumed.items():
            if key in reads:
                reads[key] = _with_columns_of(reads[key], item)
            elif key in others:
                reads[key] = item
        return _without_parts(reads.values(), (*reads.values(), *self._writes.values()))

    @property
    def consumed(self) -> list[Captured]:
        """Return the datasets that were read only by queries that wrote tables."""
        others = self._consumed_by_reads() | self._reads.keys()
        return [item for key, item in self._consumed.items() if key not in others]

    def _consumed_by_reads(self) -> set[tuple[Name, str | None]]:
        """Return the keys of consumed datasets from which datasets come that were read back.

        If the sources of one are unknown, these are all consumed datasets.
        """
        known = {name for name, _ in self._consumed}
        found: set[Name] = set()
        for item in self._writes.values():
            if item.key in self._read_back:
                found.update(self.sources_of(item, known) or known)
        return {key for key in self._consumed if key[0] in found}

    @property
    def writes(self) -> list[Captured]:
        """Return the datasets that were written."""
        return _without_parts(self._writes.values(), tuple(self._writes.values()))

    def sources_of(self, item: Captured, inputs: Container[Name]) -> tuple[Name, ...] | None:
        """Return the inputs that a written dataset comes from; None if they are unknown.

        A source that was written before stands for its own sources.
        """
        written = {dataset.key: dataset.sources for dataset in self._writes.values()}
        seen: dict[Name, None] = {}
        pending = list(item.sources or ())
        if item.sources is None:
            return None
        while pending:
            name = pending.pop(0)
            if name in seen:
                continue
            seen[name] = None
            if name not in inputs:
                sources = written.get(name)
                if sources is None:
                    return None
                pending += sources
        return tuple(name for name in seen if name in inputs)

    @property
    def queries(self) -> list[CapturedQuery]:
        """Return the SQL texts that name datasets."""
        return list(self._queries.values())


def _with_columns_of(item: Any, other: Any) -> Any:
    """Return a dataset with the columns of two reads of it; return a query unchanged."""
    if not isinstance(item, Captured):
        return item
    return replace(item, fields=tuple({**dict(other.fields), **dict(item.fields)}.items()))


def _without_parts(items: Iterable[Captured], among: Iterable[Captured]) -> list[Captured]:
    """Return datasets without objects below others: the files of a table or of a folder."""
    whole = [item.key for item in among if not item.is_object]
    return [item for item in list(items) if not (item.is_object and _is_part(item.key, whole))]


def _is_part(name: Name, whole: Iterable[Name]) -> bool:
    return any(name[0] == space and name[1].startswith(f"{above}/") for space, above in whole)


_current: ContextVar[Capture | None] = ContextVar("_current", default=None)
_is_inside: ContextVar[bool] = ContextVar("_is_inside", default=False)
"""True within a call that is recorded, so that the calls below it are not."""
_roots: list[Capture] = []
"""The active captures without a parent."""


def current() -> Capture | None:
    """Return the capture that a call in this thread belongs to.

    A thread that user code started belongs to the only capture of the process; with several, its
    calls belong to none.
    """
    if _is_inside.get():
        return None
    capture = _current.get()
    if capture is None and len(_roots) == 1:
        return _roots[0]
    return capture


@contextmanager
def paused() -> Iterator[None]:
    """Record nothing in this thread."""
    token = _is_inside.set(True)
    try:
        yield
    finally:
        _is_inside.reset(token)


def is_on(environment: Any = os.environ) -> bool:
    """Return True unless HEADWATER_CAPTURE turns capturing off."""
    return str(environment.get("HEADWATER_CAPTURE", "")).strip().lower() not in _OFF


# The datasets that an object is a copy of, by its id, while it exists and is unchanged.
_origins: dict[int, tuple[Any, tuple[Name, ...], Any]] = {}


_BOUND = frozenset(("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "botocore", "s3fs"))
"""Libraries whose objects do not change, or whose changes are detected."""


def bind(value: Any, names: Iterable[Name]) -> None:
    """Remember that an object is the content of datasets; objects that may change are ignored."""
    key = id(value)
    if type(value).__module__.partition(".")[0] not in _BOUND:
        return
    try:
        reference = weakref.ref(value, lambda _: _origins.pop(key, None))
    except TypeError:
        return
    _origins[key] = (reference, tuple(names), _state(value))


def origin_of(value: Any) -> tuple[Name, ...] | None:
    """Return the datasets that an object is the content of; None if they are unknown."""
    reference, names, state = _origins.get(id(value), (None, (), None))
    if reference is None or reference() is not value or state != _state(value):
        return None
    return tuple(names)


def forget(value: Any) -> None:
    """Forget the datasets of an object, because it changes."""
    _origins.pop(id(value), None)


def forget_shared(array: Any) -> None:
    """Forget the sources of the frames that share values with an array, which may change them.

    Arrays that a recorded call uses are ignored.
    """
    if _is_inside.get():
        return
    for key, (reference, *_) in list(_origins.items()):
        if any(_is_shared(values, array) for values in values_of(reference())):
            _origins.pop(key, None)


def values_of(frame: Any) -> list[Any]:
    """Return the arrays of a frame or a series of pandas."""
    return [block.values for block in frame._mgr.blocks] if hasattr(frame, "_mgr") else []


def _is_shared(values: Any, array: Any) -> bool:
    """Return True if two arrays may share memory, such as extension arrays of the same type."""
    numpy = sys.modules["numpy"]
    if not isinstance(array, numpy.ndarray):
        return type(values) is type(array)
    for name in ("_ndarray", "_data"):  # of datetimes and of integers with missing values
        values = getattr(values, name, values) if not isinstance(values, numpy.ndarray) else values
    return isinstance(values, numpy.ndarray) and bool(numpy.may_share_memory(values, array))


def _state(value: Any) -> Any:
    """Return what differs after columns of a frame are added, removed or replaced."""
    library = type(value).__module__.partition(".")[0]
    if library == "polars":
        return id(getattr(value, "_df", None)), getattr(value, "shape", None)
    if library != "pandas" or not hasattr(value, "_mgr"):
        return None
    blocks = tuple(id(block.values) for block in value._mgr.blocks)
    return id(value._mgr), blocks, value.shape


def fields_of(value: Any) -> tuple[tuple[str, str], ...]:
    """Return the columns and types of a pandas or Polars frame or a PyArrow table, up to 500."""
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    columns: Iterable[tuple[Any, Any]] = ()
    if module in ("pandas", "polars") and kind == "DataFrame":
        columns = zip(value.columns, value.dtypes, strict=True)
    elif module == "pyarrow" and kind in ("Table", "RecordBatch"):
        columns = ((column.name, column.type) for column in value.schema)
    described = [(name, str(dtype)) for name, dtype in columns]
    is_named = all(isinstance(name, str) for name, _ in described)
    return tuple(described) if is_named and len(described) <= _MOST_COLUMNS else ()
