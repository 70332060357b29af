"""Failing jobs: the newest finished run failed, and the pipeline has not run as a whole since.

A root run has no parent: the run of a pipeline, or of a job outside of pipelines. Runs are ordered
by `place_of_run`: their start, then their id. A run *was repeated* if it, or a run above it, was
retried under the same parent. `of_runs` and `jobs_where` cache a value of the runs of a job,
or all jobs with a condition, until their runs change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import partial
from math import inf

from headwater.datasets.assertions import dataset_assertions
from headwater.datasets.not_run import was_not_run
from headwater.datasets.quality import (
    Check,
    checks_of,
    current_failures,
    datasets_with_failures,
    has_only_removed_failures,
    has_tests,
    may_have_failed_check,
    tests_without_dataset,
)
from headwater.datasets.replaced_writes import all_writes_of
from headwater.events import JobRef
from headwater.events.facets import JobType
from headwater.graph.current import generations_of, graph_of, once_an_event
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    children_of,
    is_lost,
    is_streaming,
    parent_of,
)
from headwater.runs.failures import is_failed, may_be_failed, was_repeated
from headwater.runs.summary import newest_run, place_of_run


def recent_roots(state: State, ref: JobRef) -> list[Run]:
    """Return the newest finished root run of a job and the open ones after it, oldest first.

    A run of a backfill that failed after the newest one had ended counts as the newest.

    The newest finished one is left out if no root run has ended. The result is cached.
    """

    def recent(runs: list[Run]) -> list[Run]:
        roots = [run for run in runs if parent_of(state, run) is None]
        roots.sort(key=partial(place_of_run, state))
        ended = [place for place, run in enumerate(roots) if outcome(state, run).ended is not None]
        newest = decisive_run(state, [roots[place] for place in ended])
        return [newest, *roots[ended[-1] + 1 :]] if newest else roots

    return generations_of(state).of_runs(ref, "recent roots", recent)


def decisive_run(state: State, runs: list[Run]) -> Run | None:
    """Return the run that started last, unless one failed after it ended: the last of these.

    Runs of a backfill overlap: one may fail when those that started after it have completed.

    `runs` are finished runs, in any order; None if there are none. A later run of the same element
    that completed repeats a failed run, which then does not count.
    """
    newest = max(runs, key=partial(place_of_run, state), default=None)
    end = outcome(state, newest).ended if newest else None
    if end is None:
        return newest
    later = [
        run
        for run in runs
        if (outcome(state, run).ended or 0) > end
        and is_failed(state, run)
        and not was_repeated(state, run)
    ]
    return max(later, key=lambda run: outcome(state, run).ended or 0, default=newest)


def decided_root(state: State, ref: JobRef) -> Run | None:
    """Return the newest root run that ended, is stale or is a running stream.

    A newer batch run is not decided yet. A stream that runs again, with or without a parent, has
    recovered: it never ends.

    Return None if there is no such run.
    """
    runs = (
        run
        for run in reversed(recent_roots(state, ref))
        if outcome(state, run).ended is not None
        or is_lost(state, run)
        or _is_running_stream(state, run)
    )
    newest = next(runs, None)
    if newest is None or not is_failed(state, newest):
        return newest
    return running_stream(state, ref, outcome(state, newest).ended) or newest


def _is_running_stream(state: State, run: Run) -> bool:
    """Return True if a run is a stream that is running."""
    return is_streaming(state, run) and outcome(state, run).state is RunState.RUNNING


def running_stream(state: State, ref: JobRef, since: int | None, until: float = inf) -> Run | None:
    """Return a run of a job that is a running stream and began between `since` and `until`.

    Times are in microseconds; None for `since` means any time before `until`.
    """
    runs = map(state.runs.__getitem__, state.jobs[ref].runs)
    return next(
        (
            run
            for run in runs
            if (since or 0) <= (began_at(state, run) or 0) <= until
            and _is_running_stream(state, run)
        ),
        None,
    )


def failed_part(state: State, ref: JobRef) -> Run | None:
    """Return the newest failed run of a job among its newest finished ones under one parent.

    Return None if none of them failed, or the job runs again as a stream. Runs under one parent are
    the elements of a mapped task or the queries of an application, which count together.
    """
    below = _finished_with_failures(state, ref)
    if (newest := decisive_run(state, below)) is None:
        return None
    together = [run for run in below if parent_of(state, run) is parent_of(state, newest)]
    wrong = (run for run in together if is_failed(state, run) and not was_repeated(state, run))
    last = max(wrong, key=partial(place_of_run, state), default=None)
    return None if last and running_stream(state, ref, outcome(state, last).ended) else last


def _finished_with_failures(state: State, ref: JobRef) -> list[Run]:
    """Return the finished runs of a job that have parents; empty without decisive failures.

    A failure is decisive if it has the same parent as the newest run, or as one that failed after
    the newest had ended. The result is cached. Whether a failed run was repeated is not part of it:
    this changes with runs of other jobs, if a run above it is repeated.
    """

    def finished(runs: list[Run]) -> list[Run]:
        below = [
            run
            for run in runs
            if parent_of(state, run) is not None
            and (run.end is not None or _is_running_stream(state, run) or is_failed(state, run))
        ]
        newest = max(below, key=partial(place_of_run, state), default=None)
        failed = [run for run in below if is_failed(state, run)]
        if newest is None or not failed:
            return []
        end = outcome(state, newest).ended or inf
        deciding = [newest, *(run for run in failed if (outcome(state, run).ended or 0) > end)]
        parents = {parent.key for run in deciding if (parent := parent_of(state, run))}
        above = (parent_of(state, run) for run in failed)
        return below if any(parent and parent.key in parents for parent in above) else []

    return generations_of(state).of_runs(ref, "failed part", finished)


def is_superseded(state: State, run: Run) -> bool:
    """Return True if the pipeline of a failed run has run as a whole since.

    All jobs that completed under the same parent, and all jobs of the pipeline that read the failed
    job's outputs, must have run again. A `dbt test` after `dbt run`, or a `dbt run --select`, may
    not include the failed model. If there are no such jobs, the newest run of the pipeline must
    have a job of the same type. A query of a task needs only a later run of the task.

    A superseded failure is not the state of the job. `run` is a failed run below another one; for a
    root run, the result is False.
    """
    _, *ancestors = ancestry_of(state, run)
    newest = decided_root(state, ancestors[-1].key.job) if ancestors else None
    if newest is None or place_of_run(state, newest) <= place_of_run(state, ancestors[-1]):
        return False
    parent, pipeline = ancestors[0], ancestors[-1].key.job
    task = generations_of(state).levels.owner(run, Level.TASK)
    if task is not run and task in ancestors:
        return _ran_since(state, task.key.job, task)
    completed = {
        child.key.job
        for child in children_of(state, parent)
        if child.key.job != run.key.job and outcome(state, child).state is RunState.COMPLETED
    }
    if expected := completed | _readers_in_pipeline(state, run.key.job, pipeline):
        return all(_ran_since(state, ref, parent) for ref in expected)
    job_type = reported_job_type(state, run.key.job)
    return any(
        reported_job_type(state, child.key.job) == job_type for child in children_of(state, newest)
    )


def _readers_in_pipeline(state: State, ref: JobRef, pipeline: JobRef) -> set[JobRef]:
    """Return the tasks of a pipeline that read the outputs of a task."""
    graph = graph_of(state, Level.TASK)
    readers = {job for name in all_writes_of(state, ref) for job in graph.readers_of(name)}
    return {job for job in readers - {ref} if _pipeline_of_newest_run(state, job) == pipeline}


def _pipeline_of_newest_run(state: State, ref: JobRef) -> JobRef | None:
    newest = newest_run(state, ref)
    return [*ancestry_of(state, newest)][-1].key.job if newest else None


def _ran_since(state: State, ref: JobRef, run: Run) -> bool:
    """Return True if a job ran after the given run, other than as a child of it."""
    newest = newest_run(state, ref)
    return (
        newest is not None
        and newest is not run
        and parent_of(state, newest) is not run
        and place_of_run(state, newest) > place_of_run(state, run)
    )


def reported_job_type(state: State, ref: JobRef) -> str | None:
    """Return the type of a job from its `jobType` facet, such as MODEL or TASK."""
    job = state.jobs.get(ref)
    return job.facets.parsed(JobType).jobType if job else None


def is_void(state: State, run: Run) -> bool:
    """Return True if a failed test says nothing: it was not run, or is no longer in its project."""
    return was_not_run(state, run) or has_only_removed_failures(state, run)


def failing_run(state: State, ref: JobRef) -> Run | None:
    """Return the newest failed run of a job that fails now; None if it does not.

    A failed pipeline and a failed task of it are two failing jobs, each with its own run. The job
    fails as a root by its own newest run, or as a part of pipelines, unless the pipeline has run as
    a whole since, or the run is a test that was not run (`is_void`).
    """
    root, part = decided_root(state, ref), failed_part(state, ref)
    failed = [root] if root is not None and is_failed(state, root) else []
    if part is not None and not is_superseded(state, part) and not is_void(state, part):
        failed.append(part)
    return max(failed, key=partial(place_of_run, state), default=None)


def failing_jobs(state: State, refs: Iterable[JobRef] | None = None) -> dict[JobRef, Run]:
    """Return all jobs that fail now, or those of some jobs, each with its failed run."""
    candidates = sorted(possibly_failing(state) if refs is None else refs)
    found = {ref: failing_run(state, ref) for ref in candidates}
    return {ref: run for ref, run in found.items() if run is not None}


def possibly_failing(state: State) -> Set[JobRef]:
    """Return the jobs of which a newest finished run failed, whatever the time is.

    These are candidates: a repetition, a later run of the pipeline, a recovery or a removal may
    have ended a failure.
    """

    def may_fail(ref: JobRef) -> bool:
        ended = recent_roots(state, ref)[:1]
        is_root_failed = any(is_failed(state, run) for run in ended)
        return is_root_failed or bool(_finished_with_failures(state, ref))

    return generations_of(state).jobs_where("failing", may_fail, may_be_failed)


def failed_checks(
    state: State, names: Iterable[DatasetName] | None = None
) -> Iterator[tuple[DatasetName, Check]]:
    """Yield all datasets whose newest checks failed, or those of some.

    Each is yielded with the checks of one run or one event.
    """
    every = _names_with_failures(state) | _failed_without_run(state) if names is None else names
    for name in sorted(every):
        failures = current_failures(state, checks_of(state, name))
        checks = {check.run.key if check.run else check.time: check for check, _ in failures}
        yield from ((name, check) for check in checks.values())


@once_an_event
def _failed_without_run(state: State) -> set[DatasetName]:
    """Return the datasets of which an event without a run ever reported a failed check."""
    return {
        state.identity.primary(record.name)
        for record in state.datasets.values()
        for facets in (record.facets_without_run or {}).values()
        if any(assertion.failed for assertion in dataset_assertions(facets))
    }


@once_an_event
def checked_nodes(state: State) -> dict[Node, None]:
    """Return the datasets, then the jobs, that may have failed checks now.

    The result is a dict to keep this order.
    """
    generations = generations_of(state)
    jobs = generations.jobs_where("failed tests", partial(_has_failed_test, state), has_tests)
    datasets = sorted(_names_with_failures(state) | _failed_without_run(state))
    return dict.fromkeys((*map(Node.of_dataset, datasets), *map(Node.of_job, sorted(jobs))))


def _names_with_failures(state: State) -> set[DatasetName]:
    """Return the datasets of which a check ever failed."""
    failing = partial(datasets_with_failures, state)
    generations = generations_of(state)
    jobs = generations.jobs_where(
        "failed checks", lambda ref: bool(failing(ref)), may_have_failed_check
    )
    return {state.identity.primary(name) for ref in jobs for name in failing(ref)}


def _has_failed_test(state: State, ref: JobRef) -> bool:
    return any(check.failed for check in tests_without_dataset(state, ref))
