"""Tests that were not run, although their producer reported them as failed.

dbt skips the tests of a model that failed or was skipped in the same invocation, and dbt-ol reports
them as failed, without an actual value or an error. A skipped model has no run in the invocation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headwater import deadline
from headwater.events import JobRef
from headwater.events.assertions import Assertion
from headwater.events.facets import ErrorMessage, JobType
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.placeholders import only_datasets
from headwater.identity import DatasetName
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import ancestry_of, descendants_of

NOT_RUN = "not run"
"""The status of an assertion that was not run."""
_FAILED = (RunState.FAILED, RunState.ABORTED)
_TESTS = {"TEST", "CHECK"}


class _Invocation(NamedTuple):
    """The jobs and datasets of the runs below a pipeline run, without tests."""

    pipeline: JobRef
    completed: set[JobRef]
    failed: set[JobRef]
    written: set[DatasetName]
    unwritten: set[DatasetName]
    """The outputs of failed runs."""
    read: set[DatasetName]


def is_test(state: State, ref: JobRef) -> bool:
    """Return True if a job has the type of a test."""
    job = state.jobs.get(ref)
    kind = job.facets.parsed(JobType).jobType if job else None
    return (kind or "").upper() in _TESTS


def was_not_run(state: State, run: Run) -> bool:
    """Return True if a failed test was not run: nothing that it reads was written before it."""
    names = map(state.identity.primary, run.inputs or run.outputs)
    is_failed = outcome(state, run).state in _FAILED and is_test(state, run.key.job)
    return (
        is_failed
        and bool(run.inputs or run.outputs)
        and all(lacks_data(state, run, name) for name in names)
    )


def lacks_data(state: State, test: Run, name: DatasetName) -> bool:
    """Return True if the run that should write a dataset failed or was skipped before a test."""
    *_, root = ancestry_of(state, test)
    if root is test or not is_test(state, test.key.job) or test.facets.parsed(ErrorMessage).message:
        return False
    invocation = _invocation_of(state, root)
    return bool(invocation.failed) and _is_missing(state, invocation, name)


def has_result(assertion: Assertion) -> bool:
    """Return True if an assertion passed or reported the value that made it fail."""
    return assertion.passed is not False or assertion.reported.get("actual") is not None


def without_result(assertion: Assertion) -> Assertion:
    """Return an assertion as one that was not run."""
    reported = {**assertion.reported, "success": None, "status": NOT_RUN}
    return assertion._replace(passed=None, reported=reported)


def _invocation_of(state: State, root: Run) -> _Invocation:
    key = "invocation", root.key
    if key not in state.derived:
        found = _Invocation(root.key.job, set(), set(), set(), set(), set())
        primary = state.identity.primary
        for run in deadline.watched(descendants_of(state, root)):
            if is_test(state, run.key.job):
                continue
            is_failed = outcome(state, run).state in _FAILED
            (found.failed if is_failed else found.completed).add(run.key.job)
            (found.unwritten if is_failed else found.written).update(map(primary, run.outputs))
            found.read.update(map(primary, run.inputs))
        state.derived[key] = found
    invocation: _Invocation = state.derived[key]
    return invocation


def _is_missing(state: State, invocation: _Invocation, name: DatasetName) -> bool:
    """Return True if a dataset depends on a failed run of an invocation that did not write it.

    A dataset that no job ever wrote is missing, too, unless a run of the invocation read it.
    """
    known = generations_of(state)
    seen, open_ = {name}, [name]
    for nearest in deadline.popped(open_):
        writers = known.writers(nearest)
        if nearest in invocation.written or not invocation.completed.isdisjoint(writers):
            continue
        if nearest in invocation.unwritten or not invocation.failed.isdisjoint(writers):
            return True
        if not writers and nearest == name and nearest not in invocation.read:
            return True
        own = [ref for ref in writers if invocation.pipeline in state.jobs[ref].parents]
        above = {read for ref in own for read in known.derived(ref, "newest reads", _newest_reads)}
        open_ += sorted(above - seen)
        seen |= above
    return False


def _newest_reads(oldest_first: Iterable[Generation]) -> set[DatasetName]:
    newest = max(oldest_first, key=lambda generation: generation.order[0], default=None)
    return only_datasets(newest.edges.reads) if newest else set()
