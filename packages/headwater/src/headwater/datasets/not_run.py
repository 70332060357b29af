"""Tests that were not run, although their producer reported them as failed.

dbt skips the tests of a model that failed or was skipped in the same invocation, and dbt-ol reports
them as failed, without an actual value or an error. A skipped model has no run in the invocation. A
model is also skipped if a test upstream failed. dbt-ol does not report the tests of seeds and
snapshots, nor unit tests: one of these failed if the invocation failed and no run shows why.

An *invocation* is one `dbt build` or `dbt test`: a pipeline run with the runs of models and tests
below it. An assertion *has a result* if it passed, or reported the value that made it fail. A run
of a test is skipped (`is_skipped`) if dbt reported it as aborted.

The *primary name* of a dataset is the one of its joined names under which it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.assertions import Assertion, dataset_assertions, tests_of_run
from headwater.datasets.thresholds import with_threshold
from headwater.events import JobRef
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
    """The jobs and datasets of the runs below a pipeline run, without tests.

    `pipeline` is the job of the pipeline run; `completed` and `failed` are the jobs of the runs
    below. Names are primary names.
    """

    pipeline: JobRef
    completed: set[JobRef]
    failed: set[JobRef]
    written: set[DatasetName]
    unwritten: set[DatasetName]
    """The outputs of failed runs."""
    read: set[DatasetName]
    rejected: set[DatasetName]
    """The datasets of which a test failed with a result."""


def root_of(state: State, run: Run) -> Run:
    """Return the topmost run above a run; the run itself if it has no parent."""
    *_, root = ancestry_of(state, run)
    return root


def is_test(state: State, ref: JobRef) -> bool:
    """Return True if a job has the type of a test."""
    job = state.jobs.get(ref)
    kind = job.facets.parsed(JobType).jobType if job else None
    return (kind or "").upper() in _TESTS


def is_dbt_test(state: State, ref: JobRef) -> bool:
    """Return True if a job has the type of a test of dbt."""
    if not is_test(state, ref):
        return False
    return (state.jobs[ref].facets.parsed(JobType).integration or "").upper() == "DBT"


def completed_tests(state: State, root: Run) -> set[JobRef]:
    """Return the test jobs that completed below a pipeline run."""
    return {
        run.key.job
        for run in deadline.watched(descendants_of(state, root))
        if is_test(state, run.key.job) and outcome(state, run).state is RunState.COMPLETED
    }


def was_not_run(state: State, run: Run) -> bool:
    """Return True if a failed test was not run: nothing that it reads was written before it.

    Such a test is no failed check: the state of its job is unknown instead of failed.
    """
    names = map(state.identity.primary, run.inputs or run.outputs)
    is_failed = outcome(state, run).state in _FAILED and is_test(state, run.key.job)
    return (
        is_failed
        and bool(run.inputs or run.outputs)
        and not any(item.failed and has_result(item) for item in _assertions(state, run))
        and all(lacks_data(state, run, name) for name in names)
    )


def lacks_data(state: State, test: Run, name: DatasetName) -> bool:
    """Return True if the run that should write a dataset failed or was skipped before a test.

    `name` is a dataset that the test reads. Only a test without an error message in a run of a
    pipeline can lack data: a message shows that it ran.
    """
    root = root_of(state, test)
    if root is test or not is_test(state, test.key.job) or test.facets.parsed(ErrorMessage).message:
        return False
    invocation = _invocation_of(state, root)
    has_cause = bool(invocation.failed or invocation.rejected)
    is_build = bool(invocation.completed) and outcome(state, root).state in _FAILED
    return (has_cause or is_build) and _is_missing(state, invocation, name)


def has_result(assertion: Assertion) -> bool:
    """Return True if an assertion passed or reported the value that made it fail."""
    return assertion.passed is not False or assertion.reported.get("actual") is not None


def without_result(assertion: Assertion) -> Assertion:
    """Return an assertion as one that was not run."""
    reported = {**assertion.reported, "success": None, "status": NOT_RUN}
    return assertion._replace(passed=None, reported=reported)


def _invocation_of(state: State, root: Run) -> _Invocation:
    """Return the invocation of a root run.

    It is cached until the next event, since many tests need it.
    """
    key = "invocation", root.key
    if key not in state.derived:
        found = _Invocation(root.key.job, set(), set(), set(), set(), set(), set())
        primary = state.identity.primary
        for run in deadline.watched(descendants_of(state, root)):
            if is_test(state, run.key.job):
                if any(item.failed and has_result(item) for item in _assertions(state, run)):
                    found.rejected.update(map(primary, run.inputs))
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

    The same applies to failed tests, and to all jobs of the pipeline if no run shows what failed. A
    dataset that no job ever wrote is missing, too, unless a run of the invocation read it.

    A dataset of the same pipeline that was not written in the invocation is missing if one of its
    sources is: the walk goes upstream from it, and ends at datasets that were written.
    """
    generations = generations_of(state)
    has_cause = bool(invocation.failed or invocation.rejected)
    seen, open_ = {name}, [name]
    for nearest in deadline.popped(open_):
        writers = generations.writers(nearest)
        if nearest != name and nearest in invocation.rejected:
            return True
        if nearest in invocation.written or not invocation.completed.isdisjoint(writers):
            continue
        if nearest in invocation.unwritten or not invocation.failed.isdisjoint(writers):
            return True
        if not writers and nearest == name and nearest not in invocation.read:
            return True
        own = [ref for ref in writers if invocation.pipeline in state.jobs[ref].parents]
        if own and not has_cause:
            return True
        above = {
            read for ref in own for read in generations.derived(ref, "newest reads", _newest_reads)
        }
        open_ += sorted(above - seen)
        seen |= above
    return False


def only_warns(state: State, run: Run) -> bool:
    """Return True if a dbt test was reported as failed, although its failures are warnings."""
    if not is_dbt_test(state, run.key.job):
        return False
    failed = [item for item in _assertions(state, run) if item.passed is False]
    return bool(failed) and all(item.is_warning for item in failed)


def _assertions(state: State, run: Run) -> Iterator[Assertion]:
    """Yield the assertions of a test: about its inputs, or about itself.

    A test that dbt skipped has none, although dbt-ol reports them as failed.
    """
    if run.is_skipped:
        return
    uses = (use.dataset_facets.plain() | use.io_facets.plain() for use in run.inputs.values())
    found = [item for facets in uses for item in dataset_assertions(facets)]
    found += tests_of_run(run.facets.get("test"))
    yield from map(with_threshold, found) if is_dbt_test(state, run.key.job) else found


def _newest_reads(oldest_first: Iterable[Generation]) -> set[DatasetName]:
    """Return the inputs of the generation that started last; empty without any."""
    newest = max(oldest_first, key=lambda generation: generation.order[0], default=None)
    return only_datasets(newest.edges.reads) if newest else set()
