"""Failed runs and their causes: the lowest failed runs below them.

An *element* is one instance of a mapped task of Airflow or of a Metaflow foreach; it is None if the
run reports none. A run is *retried* if its job ran again under the same parent.
"""

from __future__ import annotations

from itertools import takewhile

from headwater.datasets.elements import element_of
from headwater.datasets.not_run import is_test, only_warns, was_not_run
from headwater.datasets.singular_tests import only_repeats_singular_tests
from headwater.events import EventType
from headwater.events.facets import Airflow, MetaflowTask
from headwater.identity import DatasetName
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    children_of,
    descendants_of,
    is_streaming,
    parent_of,
)
from headwater.runs.completion import has_failed_batch
from headwater.runs.summary import place_of_run


def is_failed(state: State, run: Run) -> bool:
    """Return True if a run failed or was aborted.

    A run with outputs and without an end event fails if its parent does. A dbt test whose failures
    are only warnings did not fail, even if it was reported so, nor did a model that dbt skipped. A
    model that runs in batches failed if one batch did, even if a later batch completed.

    Without outputs, a run without an end does not count: its own end was not reported.
    """
    if run.is_skipped:
        return False
    if has_failed_batch(run):
        return True
    is_ended = run.end is not None or bool(run.outputs)
    is_reported = is_ended and outcome(state, run).state in (RunState.FAILED, RunState.ABORTED)
    return is_reported and not only_warns(state, run)


def may_be_failed(run: Run) -> bool:
    """Return False for a run that cannot have failed, according to its own events.

    A run with outputs and without an end event may fail with its parent; see `is_failed`.
    """
    if has_failed_batch(run):
        return True
    return bool(run.outputs) if run.end is None else run.end[1] is not EventType.COMPLETE


def causes_of(state: State, run: Run) -> list[Run]:
    """Return the lowest failed descendants of a failed run that were not retried, or the run.

    Children of a retried run, such as queries of a task's first attempt, are not causes either.
    Tests that were not run are not causes, nor are runs that only repeat the failures of singular
    dbt tests. Other tests come last: they fail because of the data.

    They are ordered by start, newest first, with tests last. There is always at least one.
    """
    failed = [
        other
        for other in descendants_of(state, run)
        if is_failed(state, other)
        and not was_repeated(state, other, run)
        and not was_not_run(state, other)
        and not only_repeats_singular_tests(state, other)
    ]
    parents = {parent.key for other in failed if (parent := parent_of(state, other))}
    lowest = [other for other in failed if other.key not in parents]
    lowest.sort(key=lambda other: place_of_run(state, other), reverse=True)
    return sorted(lowest, key=lambda other: is_test(state, other.key.job)) or [run]


def was_repeated(state: State, run: Run, top: Run | None = None) -> bool:
    """Return True if a run was retried, or a run above it and below `top`.

    None for `top` stands for the whole way up to the root run.
    """
    above = takewhile(lambda other: other is not top, ancestry_of(state, run))
    return any(is_retried(state, other) for other in above)


def is_retried(state: State, run: Run) -> bool:
    """Return True if the job ran again under the same parent after this run, and that run ended.

    A retry that is running may fail too; a stream never ends. A run for another element of a mapped
    Airflow task or a Metaflow foreach is no retry. Where the elements are not reported, runs at the
    same time show that there are several. A later run of such a job is no retry unless the parent
    run completed. A resumed flow retries its elements too.
    """
    parent = parent_of(state, run)
    if parent is None:
        return False
    began, ended = began_at(state, run) or 0, outcome(state, run).ended or 0
    element = element_of(run)
    others = [other for other in children_of(state, parent) if other.key.job == run.key.job]
    if run.facets.parsed(MetaflowTask).pathspec:
        others = [state.runs[key] for key in state.jobs[run.key.job].runs]
    same = [o for o in others if None in (element, element_of(o)) or element == element_of(o)]
    later = (o for o in same if o is not run and (began_at(state, o) or 0) >= ended)
    if not any(outcome(state, o).ended is not None or is_streaming(state, o) for o in later):
        return False
    return (
        element is not None
        or outcome(state, parent).state is RunState.COMPLETED
        or not any(_overlaps(state, other, began, ended) for other in same if other is not run)
    )


def outputs_of_other_elements(state: State, run: Run) -> set[DatasetName]:
    """Return what only completed elements of a mapped task wrote, if another element failed.

    The set is empty if a failed element reported no outputs, because it could have been about to
    write any of them. `run` is a failed run.
    """
    parent = parent_of(state, run)
    if parent is None or element_of(run) is None:
        return set()
    written: set[DatasetName] = set()
    unwritten: set[DatasetName] = set()
    for other in children_of(state, parent):
        if other.key.job != run.key.job:
            continue
        names = _outputs_below(state, other)
        if is_failed(state, other) and not was_repeated(state, other):
            if not names:
                return set()
            unwritten |= names
        elif outcome(state, other).state is RunState.COMPLETED:
            written |= names
    return written - unwritten


def _outputs_below(state: State, run: Run) -> set[DatasetName]:
    """Return the outputs of a run and of those below it, by their primary names."""
    runs = (run, *descendants_of(state, run))
    return {state.identity.primary(name) for other in runs for name in other.outputs}


def map_index_of(run: Run) -> str | None:
    """Return the map index of an element of a mapped Airflow task; None for other runs."""
    index = run.facets.parsed(Airflow).map_index
    return None if index == "-1" else index


def _overlaps(state: State, run: Run, began: int, ended: int) -> bool:
    """Return True if a run ran at some time in a span, in microseconds."""
    until = outcome(state, run).ended
    return (began_at(state, run) or 0) < ended and (until is None or until > began)
