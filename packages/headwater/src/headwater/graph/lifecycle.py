"""Changes of whole datasets: created, overwritten, dropped, emptied and renamed ones.

The changes of runs come from the facet lifecycleStateChange, or from SQL texts
(graph/sql_changes.py). A RENAME gives a dataset its name, and a MOVE takes it away. A `Use` is a
dataset as an input or output of a run. Times are microseconds. A *stamp* is (event time, event
hash), by which changes are ordered. `primary(name)` is the one of a dataset's joined names under
which it is shown; changes are reported under any of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from math import inf
from typing import NamedTuple

from headwater.events import EventType
from headwater.events.facets import DatasetType, LifecycleStateChange, OutputStatistics, Sql
from headwater.graph.sql_changes import renamed_by_text, stated_changes, stated_changes_of
from headwater.identity import DatasetName, canonical_name
from headwater.projection import Run, RunKey, State, Use, start_of
from headwater.projection.derived import records_of
from headwater.projection.state import LifecycleChange
from headwater.sql.changes import views_in

_WITHOUT_ROWS = ("CREATE", "ALTER")
"""Changes that write no rows unless the run reports rows or inputs."""


def emptied_before(state: State, name: DatasetName, time: float) -> float:
    """Return the time since which written rows were in a dataset at `time`; -inf for all rows.

    Rows that were written earlier were removed or replaced before `time`. A renamed dataset takes
    the rows of another one, which the renaming job reads.
    """
    found = removals(state, name)
    position = bisect_left(found, time, key=lambda removal: removal.time)
    return found[position - 1].since if position else -inf


def emptied_by(state: State, name: DatasetName, last_write: float) -> float:
    """Return the time since which written rows are in a dataset after its last write; -inf: all.

    A dropped or emptied dataset that was not written again keeps the lineage of its last rows.
    """
    found = removals(state, name)
    position = bisect_right(found, last_write, key=lambda removal: removal.time)
    return found[position - 1].since if position else -inf


class RemovedRows(NamedTuple):
    """A time, in microseconds, at which all earlier rows of a dataset were removed or replaced."""

    time: int
    since: int
    """No row that was written before is left. For a replacement, the start of its run."""
    run: RunKey | None
    """The run of this change, or of an earlier one that started later; None: a DatasetEvent."""


def removals(state: State, name: DatasetName) -> list[RemovedRows]:
    """Return the times at which all rows of a dataset were removed or replaced, in order.

    The list is cached until the next event.
    """
    key = "removals of a dataset", name
    if key not in state.derived:
        removing = (change for change in changes_of(state, name) if change.removes_rows)
        found = [
            RemovedRows(change.stamp.time, _since(state, change), change.run)
            for change in sorted(removing, key=lambda change: (change.stamp, change.kind))
        ]
        state.derived[key] = list(accumulate(found, _after))
    answer: list[RemovedRows] = state.derived[key]
    return answer


def _after(before: RemovedRows, own: RemovedRows) -> RemovedRows:
    """Return a removal, with the later `since` of the one before and itself.

    An OVERWRITE that started before an earlier removal leaves the rows removed by that one removed.
    """
    return own if own.since >= before.since else before._replace(time=own.time)


def _since(state: State, change: LifecycleChange) -> int:
    """Return the time before which written rows are gone: of an OVERWRITE, the start of its run."""
    started = start_of(state.runs[change.run]) if change.run else None
    return change.stamp.time if started is None or change.kind != "OVERWRITE" else started


def changes_of(state: State, name: DatasetName) -> list[LifecycleChange]:
    """Return the changes of a dataset under any of its names, except renames among these.

    The changes of a run count only if it completed, and take effect at its end.
    """
    primary = state.identity.primary
    recorded = {change for record in records_of(state, name) for change in record.lifecycle or ()}
    reported = {
        change for recorded_change in recorded if (change := _at_end(state, recorded_change))
    }
    return [
        change
        for change in (*reported, *stated_changes_of(state, name))
        if change.other is None or primary(change.other) != name
    ]


def _at_end(state: State, change: LifecycleChange) -> LifecycleChange | None:
    """Return a change at the end of its run, when it takes effect; None if the run did not
    complete.
    """
    end = state.runs[change.run].end if change.run else (change.stamp, EventType.COMPLETE)
    return change._replace(stamp=end[0]) if end and end[1] is EventType.COMPLETE else None


def removes_data(run: Run, use: Use) -> bool:
    """Return True if a run dropped or emptied one of its outputs and wrote no rows to it.

    A run that emptied a dataset and read others filled it again; if only its SQL text states the
    TRUNCATE, the text must also show an INSERT after it (`is_refilled`).
    """
    change = use.dataset_facets.parsed(LifecycleStateChange)
    refills = change.lifecycleStateChange == "TRUNCATE" and bool(run.inputs)
    refills &= change.is_refilled or not change.is_from_sql
    return change.removes_data and not refills and not _has_rows(use)


def former_names(state: State, run: Run) -> dict[DatasetName, DatasetName]:
    """Return the datasets that a run renamed, each with its former name.

    The former name is an input only of a completed run; a failed one renamed nothing.
    """
    primary = state.identity.primary
    reported = {
        primary(spelled): primary(former)
        for spelled, use in run.outputs.items()
        if (facet := use.dataset_facets.parsed(LifecycleStateChange).former_name)
        and (former := canonical_name(*facet)) in run.inputs
    }
    return reported or renamed_by_text(state, run)


def renamed_datasets(state: State, runs: Iterable[Run]) -> dict[DatasetName, DatasetName]:
    """Return the datasets to which some runs gave their names, each with its former name."""
    return {new: old for run in runs for new, old in former_names(state, run).items()}


def changed_datasets(state: State, runs: Iterable[Run]) -> frozenset[DatasetName]:
    """Return the datasets that some runs dropped, emptied or renamed: both names of a rename."""
    found: set[DatasetName] = set()
    for run in runs:
        for spelled, use in run.outputs.items():
            change = use.dataset_facets.parsed(LifecycleStateChange)
            if change.removes_data:
                found.add(state.identity.primary(spelled))
        for pair in former_names(state, run).items():
            found.update(pair)
        found.update(name for name, _ in stated_changes(state, run))
    return frozenset(found)


def created_datasets(state: State, runs: Iterable[Run]) -> frozenset[DatasetName]:
    """Return the datasets that some runs created, maybe existing ones, or changed the schema of.

    No run wrote rows to them: each reported a CREATE or ALTER, no inputs and no rows.
    """
    primary = state.identity.primary
    found: dict[DatasetName, bool] = {}
    for run in runs:
        for spelled, use in run.outputs.items():
            change = use.dataset_facets.parsed(LifecycleStateChange).lifecycleStateChange
            is_empty = change in _WITHOUT_ROWS and not run.inputs and not _has_rows(use)
            found[primary(spelled)] = is_empty and found.get(primary(spelled), True)
    return frozenset(name for name, is_empty in found.items() if is_empty)


def created_views(state: State, runs: Iterable[Run]) -> frozenset[DatasetName]:
    """Return the outputs that some runs only created as views; a view is filled when read.

    A run created a view if dbt materialized it as one, its datasetType is VIEW, or the SQL text
    creates a view with the last part of its name.
    """
    primary = state.identity.primary
    found: dict[DatasetName, bool] = {}
    for run in runs:
        views = views_in(run.code.get(Sql.KEY).get("query"))
        for spelled, use in run.outputs.items():
            facets, name = use.dataset_facets, primary(spelled)
            config = facets.get("dbt_model").get("config")
            is_of_dbt = isinstance(config, dict) and config.get("materialized") == "view"
            is_typed = str(facets.parsed(DatasetType).datasetType).upper() == "VIEW"
            is_view = is_of_dbt or is_typed or spelled.name.rpartition(".")[2].lower() in views
            found[name] = is_view and found.get(name, True)
    return frozenset(name for name, is_view in found.items() if is_view)


def _has_rows(use: Use) -> bool:
    """Return True if a run reported rows of an output, or where its columns come from."""
    is_counted = bool(use.io_facets.parsed(OutputStatistics).rowCount)
    return is_counted or bool(use.dataset_facets.get("columnLineage").get("fields"))
