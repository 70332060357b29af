"""Dropped, emptied and renamed datasets.

A dataset is dropped, emptied or renamed until it is written again. A write counts if it ended after
the change and did not fail, but not if it is that of a run above the one that made the change,
which reports the same outputs. A run that only creates or alters an emptied dataset adds no rows to
it.

The state of a dropped or renamed dataset is unknown. An emptied dataset still exists and keeps its
state. A change of kind MOVE gives the dataset another name (`other`).

A *stamp* is (event time, event hash), by which changes are ordered. `derived_of_writes` caches a
value of the runs of a job that wrote a dataset, until they change.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from headwater import deadline
from headwater.datasets.models import Removal
from headwater.datasets.writes import has_written
from headwater.events import shown_time
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.levels import Level
from headwater.graph.lifecycle import changes_of, created_datasets, removes_data
from headwater.graph.nodes import dataset_ref, name_of
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, State, outcome
from headwater.projection.derived import ancestry_of, is_streaming, last_event_time
from headwater.projection.state import LifecycleChange

_KINDS: dict[str, Literal["dropped", "emptied", "renamed"]] = {
    "DROP": "dropped",
    "TRUNCATE": "emptied",
    "MOVE": "renamed",
}


def removals_of(state: State, name: DatasetName) -> list[Removal]:
    """Return all removals of a dataset or its rows, also those before later writes."""
    changes = [change for change in changes_of(state, name) if change.kind in _KINDS]
    return [_removal(state, change) for change in changes]


def removal_of(state: State, name: DatasetName) -> Removal | None:
    """Return the removal of a dataset or its rows; None if it was written or created since.

    A run that creates the dataset, or another one that is renamed to its name, also ends the
    removal.
    """
    changes = changes_of(state, name)
    removing = [change for change in changes if change.kind in _KINDS]
    if not removing:
        return None
    newest = max(removing, key=lambda change: (change.stamp, change.kind))
    others = (change for change in changes if change.kind not in _KINDS)
    if any(change.stamp.time >= newest.stamp.time for change in others):
        return None
    return None if _is_written_since(state, name, newest) else _removal(state, newest)


def is_gone(state: State, name: DatasetName) -> bool:
    """Return True if a dataset was dropped or renamed, and not written since."""
    found = removal_of(state, name)
    return found is not None and found["kind"] != "emptied"


class _Write(NamedTuple):
    """The write of a dataset by a run: its end in microseconds, and if it may have written rows."""

    ended: int
    run: RunKey
    has_rows: bool


def _is_written_since(state: State, name: DatasetName, change: LifecycleChange) -> bool:
    """Return True if a run wrote the dataset after a change.

    The runs above that of the change do not count: they report its outputs. A write without rows
    ends a drop or a rename, but an emptied table stays emptied.
    """
    generations = generations_of(state)
    _, *above = ancestry_of(state, state.runs[change.run]) if change.run else (None,)
    keys_above = {run.key for run in above if run}

    def derive(writing: list[Generation]) -> list[_Write]:
        runs = (run for generation in writing for run in generation.runs)
        writes = (_write(state, run, name) for run in deadline.watched(runs))
        return sorted((write for write in writes if write), reverse=True)

    for ref in generations.writers(name):
        for write in generations.derived_of_writes(ref, name, "ends of writes", derive):
            if write.ended < change.stamp.time:
                break
            if write.run not in keys_above and (write.has_rows or change.kind != "TRUNCATE"):
                return True
    return False


def _write(state: State, run: Run, name: DatasetName) -> _Write | None:
    """Return the end of a run that wrote a dataset; None if it did not, or failed.

    An open run counts with the time of its last event.
    """
    primary = state.identity.primary
    uses = [use for spelled, use in run.outputs.items() if primary(spelled) == name]
    if not any(has_written(state, run, use) and not removes_data(run, use) for use in uses):
        return None
    ended = outcome(state, run).ended
    if ended is None:
        ended = last_event_time(state, run)
    return _Write(
        ended, run.key, is_streaming(state, run) or name not in created_datasets(state, [run])
    )


def _removal(state: State, change: LifecycleChange) -> Removal:
    """Return a removal as part of an answer.

    Its job and run are those of the task to which the run of the change belongs.
    """
    run = state.runs[change.run] if change.run else None
    owner = generations_of(state).levels.owner(run, Level.TASK) if run else None
    new_name = state.identity.primary(change.other) if change.other else None
    return {
        "kind": _KINDS[change.kind],
        "at": shown_time(change.stamp.time),
        "job": name_of(owner.key.job) if owner else None,
        "runId": owner.key.run_id if owner else None,
        "renamedTo": dataset_ref(new_name) if new_name else None,
        "evidence": "sql" if change.is_from_sql else "reported",
    }
