"""Failed runs and their causes: the lowest failed runs below them."""

from __future__ import annotations

from headwater.datasets.not_run import is_test, was_not_run
from headwater.events.facets import Airflow
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import began_at, children_of, descendants_of, parent_of
from headwater.runs.summary import place_of_run


def is_failed(state: State, run: Run) -> bool:
    """Return True if a run reported that it failed or was aborted."""
    return run.end is not None and outcome(state, run).state in (RunState.FAILED, RunState.ABORTED)


def causes_of(state: State, run: Run) -> list[Run]:
    """Return the lowest failed descendants of a failed run that were not retried, or the run.

    Tests that were not run are not causes. Other tests come last: they fail because of the data.
    """
    failed = [
        other
        for other in descendants_of(state, run)
        if is_failed(state, other)
        and not is_retried(state, other)
        and not was_not_run(state, other)
    ]
    parents = {parent.key for other in failed if (parent := parent_of(state, other))}
    lowest = [other for other in failed if other.key not in parents]
    lowest.sort(key=lambda other: place_of_run(state, other), reverse=True)
    return sorted(lowest, key=lambda other: is_test(state, other.key.job)) or [run]


def is_retried(state: State, run: Run) -> bool:
    """Return True if the job ran again under the same parent after this run ended.

    A run of a mapped Airflow task with another map index is no retry.
    """
    ended = outcome(state, run).ended or 0
    parent = parent_of(state, run)
    element = run.facets.parsed(Airflow).map_index
    return parent is not None and any(
        other.key.job == run.key.job
        and (began_at(state, other) or 0) >= ended
        and other.facets.parsed(Airflow).map_index == element
        for other in children_of(state, parent)
        if other is not run
    )
