"""Captures, their records, and the capture that a call belongs to.

A dataset is *consumed* if only queries that wrote tables read it. One that the capture wrote and
then read again is *read back*: it is no input, but its sources count as read. A temporary table is
no dataset; it stands for its sources. A query is *whole* if all that it reads is known. A *change*
drops, empties, renames or overwrites a dataset as a whole; whether the dataset has rows at the end
depends on the times of its last change and its last write.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater_client.capture._names import Name, is_file, is_temporary

MOST_DATASETS = 1_000
"""Maximum number of inputs, of outputs and of SQL texts of one capture."""
_REPORTED_EVERY = timedelta(seconds=1)
_OFF = ("false", "0", "no", "off")
_VIEW = re.compile(r"\bview\b", re.IGNORECASE)
log = logging.getLogger("headwater")


@dataclass(frozen=True, slots=True)
class Captured:
    """A dataset that a library read or wrote.

    `fields` are its columns with their types, empty if unknown. `version` is a snapshot id of
    Iceberg. `sources` are the datasets that a written one comes from; None means that they are
    unknown. `is_object` marks an object of a store that was read or written below a library.
    `change` of an output is DROP, TRUNCATE, RENAME with the `former` name, or OVERWRITE, which
    replaced all rows; None if rows were written.
    """

    namespace: str
    name: str
    fields: tuple[tuple[str, str], ...] = ()
    version: str | None = None
    sources: tuple[Name, ...] | None = None
    is_object: bool = False
    change: str | None = None
    former: Name | None = None

    @property
    def has_rows(self) -> bool:
        """Return True for an output to which rows were written."""
        return self.change in (None, "OVERWRITE")

    @property
    def key(self) -> Name:
        """Return namespace and name."""
        return self.namespace, self.name


@dataclass(frozen=True, slots=True)
class CapturedQuery:
    """An SQL text that ran, with the datasets that it names.

    If it ran several times, `at` is the start of the first run and `ended` the end of the last one.
    """

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
    ended: datetime | None = None
    """The end; None if unknown: a query that was only built runs later, if at all."""

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
        self._written_at: dict[Name, datetime] = {}
        """The time of the last write of each dataset."""
        self._gone: dict[Name, tuple[datetime, Captured]] = {}
        """The last change of each dataset that was dropped, emptied or renamed, with its time."""
        self._emptied: set[Name] = set()
        """The datasets whose earlier rows were all removed or replaced."""
        self._first_reads: dict[Name, datetime] = {}
        self._newest_read = datetime.min.replace(tzinfo=UTC)
        """The newest of the times at which datasets were first read."""
        self._reported_ends: dict[Any, datetime] = {}
        """The last end of each query that `on_change` received."""
        self._temporary: dict[Name, tuple[Captured, ...] | None] = {}
        """The sources of temporary tables; None if they are unknown."""
        self._read_back: set[Name] = set()
        self.is_complete = True
        """False if the limit of a capture was reached."""

    def add_reads(self, datasets: Iterable[Captured], at: datetime | None = None) -> None:
        """Add datasets that were read at a time (now), except those that the capture wrote."""
        items = list(datasets)
        for item in self._inputs(items, at or datetime.now(UTC)):
            self._add(self._reads, (item.key, item.version), item, "read")
        if parent := self._recording_parent():
            parent.add_reads(items, at)

    def add_writes(self, datasets: Iterable[Captured], at: datetime | None = None) -> None:
        """Add datasets that were written at a time (now)."""
        items = list(datasets)
        for item in items:
            if not self._add_write(item, "write") and self._is_news(item):
                self._changed(item, "write")
            self._note_output(item, at or datetime.now(UTC))
        if parent := self._recording_parent():
            parent.add_writes(items, at)

    def add_query(self, query: CapturedQuery) -> CapturedQuery:
        """Add an SQL text with the datasets that it names, once per text and datasets.

        Its inputs are consumed if it wrote tables, else read. In the returned query, temporary
        tables are replaced by their sources.
        """
        resolved = self.resolve(query)
        self._fill_temporary(query, resolved)
        named = resolved.inputs, resolved.outputs, resolved.files
        key = query.sql, *(tuple((i.key, i.change) for i in items) for items in named)
        (self._repeat if key in self._queries else self._add_query)(key, resolved)
        for item in resolved.targets:
            self._note_output(item, resolved.ended or datetime.now(UTC))
        if parent := self._recording_parent():
            parent.add_query(query)
        return resolved

    def _add_query(self, key: Any, query: CapturedQuery) -> None:
        items = self._consumed if query.outputs else self._reads
        for item in self._inputs(query.inputs, query.at, is_into_python=not query.outputs):
            self._add(items, (item.key, item.version), item, "")
        sources = tuple(item.key for item in query.inputs)
        for item in query.outputs:
            if item.former in self._written:
                self._add_write(replace(item, sources=(item.former,)), "")
            elif item.has_rows and (sources or item.key not in self._written or not query.is_whole):
                known = sources if sources and query.is_whole else None
                self._add_write(replace(item, sources=known), "")
        if query.inputs or query.targets:
            if query.ended:
                self._reported_ends[key] = query.ended
            self._add(self._queries, key, query, "query")

    def _repeat(self, key: Any, query: CapturedQuery) -> None:
        """Extend the time of a query that ran before; report its new end once per second."""
        before = self._queries[key]
        ends = [time for time in (before.ended, query.ended) if time]
        ended = max(ends) if len(ends) == 2 else None
        self._queries[key] = replace(before, at=min(before.at, query.at), ended=ended)
        is_news = any(map(self._is_news, query.outputs))
        reported = self._reported_ends.get(key)
        if ended and (is_news or reported is None or ended - reported >= _REPORTED_EVERY):
            self._report_end(key)

    def _report_end(self, key: Any) -> None:
        query = self._queries[key]
        if query.ended:
            self._reported_ends[key] = query.ended
        self._changed(query, "query")

    def report_ends(self) -> None:
        """Pass queries to `on_change` whose last end it has not received."""
        for key, query in list(self._queries.items()):
            if query.ended and query.ended != self._reported_ends.get(key):
                self._report_end(key)

    def _is_news(self, item: Captured) -> bool:
        """Return True if a repeated write may have other sources, or follows a change."""
        written_at = self._written_at.get(item.key, self._newest_read)
        changed_at = self._gone[item.key][0] if item.key in self._gone else written_at
        return bool(item.change) or max(changed_at, self._newest_read) > written_at

    def _note_output(self, item: Captured, at: datetime) -> None:
        """Record when rows of a dataset were written, or when it was changed as a whole.

        After a rename, rows that were written under the former name are those of the new name.
        """
        if item.change in ("DROP", "TRUNCATE", "OVERWRITE"):
            self._emptied.add(item.key)
        if item.former is not None:
            self._note_gone(replace(item, namespace=item.former[0], name=item.former[1]), at)
        if item.has_rows or item.former in self._written:
            self._written_at[item.key] = max(at, self._written_at.get(item.key, at))
        else:
            self._note_gone(item, at)

    def _note_gone(self, item: Captured, at: datetime) -> None:
        before = self._gone.get(item.key)
        if before is None or before[0] <= at:
            self._gone[item.key] = at, item

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

    def _inputs(
        self, items: Iterable[Captured], at: datetime, *, is_into_python: bool = True
    ) -> list[Captured]:
        """Return the datasets that were not written before, so that they are inputs.

        Those that were are marked as read back, unless a query passes them into another table.
        """
        items = list(items)
        if is_into_python:
            for item in items:
                if item.key in self._written - self._read_back:
                    self._read_back.add(item.key)
                    self._note_read(item.key, at)
                    self._changed(item, "read")
        found = [item for item in items if item.key not in self._written]
        for item in found:
            self._note_read(item.key, at)
        return found

    def _note_read(self, name: Name, at: datetime) -> None:
        first = self._first_reads.setdefault(name, at)
        self._first_reads[name] = min(first, at)
        if first is at:
            self._newest_read = max(self._newest_read, at)

    def _add_write(self, item: Captured, kind: str) -> bool:
        """Add a written dataset; return False if it was added before with the same sources.

        Of two writes, the sources of both count. They are unknown if those of one write are. The
        newest write comes last.
        """
        key = item.key, item.version
        self._written.add(item.key)
        if (before := self._writes.get(key)) is not None:
            is_known = before.sources is not None and item.sources is not None
            both = tuple(dict.fromkeys((*(before.sources or ()), *(item.sources or ()))))
            item = replace(item, sources=both if is_known else None)
            if item.sources == before.sources:
                return False
            del self._writes[key]
        self._add(self._writes, key, item, kind)
        return True

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
        """Add a record by its key, and report it as `kind`.

        Of two reads, the columns of both count. Records above the limit of a capture are left out,
        with one warning.
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
    def read_back(self) -> list[Name]:
        """Return the datasets that were written and then read, in the order of their writes."""
        return [item.key for item in self._writes.values() if item.key in self._read_back]

    def has_own_rows(self, name: Name) -> bool:
        """Return True for a written file, and for a table that was emptied or replaced."""
        return name in self._emptied or is_file(name)

    @property
    def writes(self) -> list[Captured]:
        """Return the datasets that were written, dropped, emptied or renamed.

        A dataset that was written and then renamed is replaced by the one of the new name.
        """
        found: list[Captured] = []
        for item in _without_parts(self._writes.values(), tuple(self._writes.values())):
            changed_at, change = self._gone.get(item.key, (None, item))
            if changed_at is None or changed_at < self._written_at.get(item.key, changed_at):
                kind = "OVERWRITE" if item.key in self._emptied else None
                found.append(replace(item, change=kind, former=None))
            elif change.former != item.key:
                found.append(replace(change, sources=()))
        others = (item for _, item in self._gone.values() if item.former != item.key)
        return [*found, *(item for item in others if item.key not in self._written)]

    def read_before(self, item: Captured, inputs: Iterable[Name]) -> tuple[Name, ...]:
        """Return the inputs that were read before the last write of a dataset, and unknown ones.

        Only these may be sources of a dataset whose sources are unknown.
        """
        written_at = self._written_at.get(item.key, self._newest_read)
        reads = self._first_reads
        return tuple(name for name in inputs if reads.get(name, written_at) <= written_at)

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
