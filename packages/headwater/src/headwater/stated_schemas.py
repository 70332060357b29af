"""The columns of tables that only the SQL texts of earlier runs state.

Many producers report no schemas, but an earlier run may have created the table with a list of
columns, or changed these. Its text counts from its end, for runs that began later. A run that
failed, or that ran at the same time as another one, leaves the columns unknown if it may have
changed them. So does a run without a readable text that wrote the table, because it may have
created the table again. Columns that a producer reported take precedence.

A *candidate* is a run that wrote a table and may have changed its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from math import inf
from typing import NamedTuple

from headwater.events import ONLY_IN_TEXT, EventType
from headwater.events.facets import Sql
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, State, start_of
from headwater.projection.derived import records_of
from headwater.projection.state import DatasetRecord, LifecycleChange
from headwater.sql.facet import text_of
from headwater.sql.reader import ANY_TABLE, ColumnChange
from headwater.sql.schema_changes import MISSING, Columns, after_change, may_change_columns
from headwater.sql.text import SqlText

_TextOf = Callable[[State, Run], SqlText | None]
_ChangesOf = Callable[[State, DatasetName], Iterable[LifecycleChange]]
_UNKNOWN = ColumnChange(ANY_TABLE, "UNKNOWN")


def text_at_arrival(text: SqlText, run: Run) -> SqlText:
    """Return a text with the datasets that were known when its event arrived.

    Those that were added because only the text names them were not.
    """
    added = {name.name for name, use in run.inputs.items() if use.io_facets.get(ONLY_IN_TEXT)}
    return text._replace(others=text.others - added)


def stated_columns(
    state: State,
    run: Run,
    text: SqlText,
    fields_of: Callable[[DatasetName], Mapping[str, str]],
    text_of_run: _TextOf,
    changes_of: _ChangesOf,
) -> dict[str, dict[str, str]]:
    """Return the columns of the tables of a text that no producer reported, by lower-case name.

    The tables are those that the run uses and whose columns earlier texts changed. A table without
    columns exists, but its columns are unknown. `fields_of` returns the reported columns of a
    dataset, `text_of_run` the SQL text of a run, and `changes_of` the changes of a whole dataset.
    """
    found: dict[str, dict[str, str]] = {}
    if text_of(run.code.get(Sql.KEY)) is None:  # a plan of Spark has the columns
        return found
    for other in sorted(text.others):
        name = state.identity.primary(DatasetName(text.namespace, other))
        if fields_of(name) or not (keys := _candidates(state, name)):
            continue
        cached = "stated columns of a dataset", name
        if cached not in state.derived:
            state.derived[cached] = _history(
                state, name, keys, text_of_run, changes_of(state, name)
            )
        history: _History = state.derived[cached]
        columns = history.columns(run)
        if columns is not None:
            found[other] = {column.lower(): column for column in columns}
    return found


def definitions_of(state: State, name: DatasetName) -> int:
    """Return a hash of what decides the columns that texts state for a dataset.

    It changes with the candidates, their ends and the lifecycle of the dataset.
    """
    ends = frozenset((key, state.runs[key].end) for key in _candidates(state, name))
    lifecycle = (frozenset(record.lifecycle or ()) for record in records_of(state, name))
    return hash((ends, *lifecycle)) if ends else 0


class _Definition(NamedTuple):
    """A change of the columns of a table by a run or an event, between two times."""

    end: float
    start: float
    run: RunKey | None
    changes: tuple[ColumnChange, ...]
    is_completed: bool


class _Changed(NamedTuple):
    """A definition that changed the columns, and the columns after it."""

    by: _Definition
    after: Columns


class _History:
    """The columns of a table over time."""

    def __init__(self, first: float) -> None:
        """Create a history without definitions. `first` is the first use of the table."""
        self._first = first
        self._changed: list[_Changed] = []
        self._columns: Columns = None
        self._until = -inf  # when the last change was certainly over
        self.last = -inf
        """The end of the last definition."""

    def extended(self, definitions: Iterable[_Definition]) -> _History:
        """Return this history with definitions that ended later than its own."""
        extended = copy(self)
        extended._changed = [*self._changed]
        for by in sorted(definitions, key=lambda item: (item.end, item.start, item.run or ())):
            extended._apply(by)
        return extended

    def _apply(self, by: _Definition) -> None:
        before, self.last = self._columns, by.end
        if not self._changed and by.start <= self._first:
            before = MISSING  # the table did not exist before
        after = before
        for change in by.changes:
            is_certain = change.is_certain and by.is_completed
            after = after_change(after, change._replace(is_certain=is_certain))
        if after == before and self._changed:
            return
        if by.start < self._until:
            after = None  # the order of the two is unknown
        self._columns, self._until = after, max(self._until, by.end)
        self._changed.append(_Changed(by, after))

    def columns(self, run: Run) -> Columns:
        """Return the columns of the table while a run used it.

        They are empty if they are unknown, and None if no earlier text changed them.
        """
        start = start_of(run) or 0
        end = run.end[0].time if run.end else inf
        found: Columns = None
        for by, after in self._changed:
            if by.run == run.key:
                continue
            if by.end <= start and by.start < start:
                found = after or ()
            elif by.start < end or by.start <= start:
                return ()  # it ran at the same time
        return found


def _candidates(state: State, name: DatasetName) -> set[RunKey]:
    """Return the runs that wrote a dataset and may have changed its columns.

    They are kept: after an event, only the runs that changed are checked again. The result is empty
    if none of them has a text.
    """
    found = [_candidates_of(state, record) for record in records_of(state, name)]
    keys = found[0] if len(found) == 1 else set[RunKey]().union(*found)
    return keys if any(_has_text(state.runs[key]) for key in keys) else set()


def _candidates_of(state: State, record: DatasetRecord) -> set[RunKey]:
    kept: tuple[int, set[RunKey]] = state.kept.get(("candidates", record.name), (-1, set()))
    revision, found = kept
    if revision != state.revision:
        changed = state.changed_runs.since(revision) if revision >= 0 else None
        checked = record.writers if changed is None else record.writers.intersection(changed)
        found = found.difference(changed) if changed is not None else set()
        found |= {key for key in checked if may_change_columns(state.runs[key].code.get(Sql.KEY))}
        state.kept["candidates", record.name] = state.revision, found
    return found


def _has_text(run: Run) -> bool:
    return text_of(run.code.get(Sql.KEY)) is not None


class _Kept(NamedTuple):
    """The history of a dataset by the runs that ended, which later events extend."""

    revision: int
    context: object
    """Values of the dataset on which the history depends besides the runs."""
    runs: set[RunKey]
    history: _History


def _history(
    state: State,
    name: DatasetName,
    keys: set[RunKey],
    text_of_run: _TextOf,
    lifecycle: Iterable[LifecycleChange],
) -> _History:
    """Return the columns of a dataset over time, by the texts of some runs and by its lifecycle.

    It is kept without the runs that did not end. If all new runs ended later than the others, only
    these are read, so the cost of an event does not grow with the number of runs.
    """
    first = min(record.first for record in records_of(state, name))
    context = first, frozenset(lifecycle), tuple(state.identity.names(name))
    kept: _Kept | None = state.kept.get(("history", name))
    changed = state.changed_runs.since(kept.revision) if kept else None
    if kept and (changed is None or kept.context != context or not kept.runs.isdisjoint(changed)):
        kept = None
    new = keys - kept.runs if kept else keys
    read = {key: _definition(state, state.runs[key], name, text_of_run) for key in new}
    ended = [item for key, item in read.items() if state.runs[key].end]
    if kept and any(item.end <= kept.history.last for item in ended):
        del state.kept["history", name]
        return _history(state, name, keys, text_of_run, context[1])
    if kept is None:
        texts = {key for key, item in read.items() if item.changes != (_UNKNOWN,)}
        of_lifecycle = [
            _Definition(stamp.time, stamp.time, key, (_UNKNOWN,), True)
            for stamp, kind, key, *_ in context[1]
            if kind != "TRUNCATE" and key not in texts
        ]
        kept = _Kept(-1, context, set(), _History(first).extended(of_lifecycle + ended))
    else:
        kept = kept._replace(history=kept.history.extended(ended))
    kept.runs.update(item.run for item in ended if item.run)
    state.kept["history", name] = kept._replace(revision=state.revision)
    return kept.history.extended(item for key, item in read.items() if not state.runs[key].end)


def _definition(state: State, run: Run, name: DatasetName, text_of_run: _TextOf) -> _Definition:
    """Return the change of the columns of a dataset by a run."""
    changes = _changes_by(state, run, name, text_of_run)
    return _Definition(
        run.end[0].time if run.end else inf,
        start_of(run) or 0,
        run.key,
        (_UNKNOWN,) if changes is None else tuple(changes),
        run.end is not None and run.end[1] is EventType.COMPLETE,
    )


def _changes_by(
    state: State, run: Run, name: DatasetName, text_of_run: _TextOf
) -> Iterator[ColumnChange] | None:
    """Return the changes of the columns of a dataset by the text of a run; None if unknown."""
    text = text_of_run(state, run)
    if text is None:
        return None
    text = text_at_arrival(text, run)
    script = text.read()
    if isinstance(script, str):
        return None
    tables, primary = text.tables(), state.identity.primary
    return (
        change
        for change in script.changes
        if change.table == ANY_TABLE
        or primary(DatasetName(text.namespace, tables.name(change.table))) == name
    )
