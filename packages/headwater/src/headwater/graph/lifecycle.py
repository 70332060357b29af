"""Changes of datasets as a whole: created, dropped, emptied and renamed ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from headwater.events.facets import LifecycleStateChange, OutputStatistics
from headwater.graph.sql_changes import renamed_by_text, stated_changes, stated_changes_of
from headwater.identity import DatasetName, canonical_name
from headwater.projection import Run, State, Use
from headwater.projection.derived import records_of
from headwater.projection.state import LifecycleChange

_WITHOUT_ROWS = ("CREATE", "ALTER")
"""Changes that write no rows unless the run reports rows or inputs."""


def emptied_before(state: State, name: DatasetName, time: float) -> float:
    """Return the last time, before another, at which no earlier row was left in a dataset.

    A renamed dataset takes the rows of another one, which the renaming job reads.
    """
    times = _changes(state, name)
    position = bisect_left(times, time)
    return times[position - 1] if position else float("-inf")


def emptied_by(state: State, name: DatasetName, last_write: float) -> float:
    """Return the last time, up to the last write, at which no earlier row was left in a dataset.

    A dropped or emptied dataset that was not written again keeps the lineage of its last rows.
    """
    times = _changes(state, name)
    position = bisect_right(times, last_write)
    return times[position - 1] if position else float("-inf")


def _changes(state: State, name: DatasetName) -> list[int]:
    """Return the times at which all rows of a dataset were removed or replaced, in order."""
    key = "changes of a dataset", name
    if key not in state.derived:
        removing = (change for change in changes_of(state, name) if change.removes_rows)
        state.derived[key] = sorted(change.stamp.time for change in removing)
    times: list[int] = state.derived[key]
    return times


def changes_of(state: State, name: DatasetName) -> list[LifecycleChange]:
    """Return the changes of a dataset under any of its names, except renames among these."""
    primary = state.identity.primary
    reported = (change for record in records_of(state, name) for change in record.lifecycle or ())
    return [
        change
        for change in (*reported, *stated_changes_of(state, name))
        if change.other is None or primary(change.other) != name
    ]


def removes_data(run: Run, use: Use) -> bool:
    """Return True if a run dropped or emptied one of its outputs and wrote no rows to it.

    A run that emptied a dataset and read others filled it again.
    """
    change = use.dataset_facets.parsed(LifecycleStateChange)
    refills = change.lifecycleStateChange == "TRUNCATE" and bool(run.inputs)
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


def changed_datasets(state: State, runs: Iterable[Run]) -> frozenset[DatasetName]:
    """Return the datasets that some runs dropped, emptied or renamed."""
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

    No run wrote rows to them.
    """
    primary = state.identity.primary
    found: dict[DatasetName, bool] = {}
    for run in runs:
        for spelled, use in run.outputs.items():
            change = use.dataset_facets.parsed(LifecycleStateChange).lifecycleStateChange
            is_empty = change in _WITHOUT_ROWS and not run.inputs and not _has_rows(use)
            found[primary(spelled)] = is_empty and found.get(primary(spelled), True)
    return frozenset(name for name, is_empty in found.items() if is_empty)


def _has_rows(use: Use) -> bool:
    """Return True if a run reported rows of an output, or where its columns come from."""
    is_counted = bool(use.facets.parsed(OutputStatistics).rowCount)
    return is_counted or bool(use.dataset_facets.get("columnLineage").get("fields"))
