"""Late jobs and datasets: those whose state is "late", and jobs that have stopped.

Findings, `doctor` and alerts list the pipelines that are late, and the datasets that are late
although the pipelines that write them are not. Tasks and other datasets are late with their
pipeline, so its finding is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater import deadline
from headwater.events import JobRef, shown_time
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node, name_of
from headwater.health.blocked import pipeline_of
from headwater.health.findings import late_dataset, late_job
from headwater.health.freshness import Rhythm
from headwater.health.models import Finding, LateJob
from headwater.health.overdue import Overdue
from headwater.health.rules import lateness_of
from headwater.health.states import health_of, state_of
from headwater.health.writers import rhythms_of_writers
from headwater.identity import DatasetName
from headwater.projection import State
from headwater.runs.summary import newest_run


def late_jobs(state: State, jobs: Iterable[JobRef]) -> list[LateJob]:
    """Return the jobs that are late or have stopped, those late by most intervals first.

    A failed or blocked job is neither, and tasks are late with their pipeline. `lateSeconds` counts
    from the time at which the next start was due, not from the limit.
    """
    overdue = overdue_jobs(state, jobs)
    return [job for job in overdue if _is_late(state, job)]


def overdue_jobs(state: State, jobs: Iterable[JobRef]) -> list[LateJob]:
    """Return the jobs that did not start at their usual time, even if they failed or are blocked.

    Those late by most intervals are first.
    """
    found: list[LateJob] = []
    for ref in deadline.watched(jobs):
        rhythm = lateness_of(state, Node.of_job(ref))
        if rhythm and (rhythm.is_late(state.now) or rhythm.is_stopped(state.now)):
            found.append(_late_job(state, ref, rhythm))
    return sorted(found, key=lambda job: -job["lateSeconds"] / max(1, job["everySeconds"]))


def _late_job(state: State, ref: JobRef, rhythm: Rhythm) -> LateJob:
    return {
        "job": name_of(ref),
        "lastStartedAt": shown_time(rhythm.last),
        "everySeconds": rhythm.every // 1_000_000,
        "dueAt": str(shown_time(rhythm.due)),
        "lateSeconds": (state.now - rhythm.due) // 1_000_000,
        "isStopped": rhythm.is_stopped(state.now),
    }


def _is_late(state: State, job: LateJob) -> bool:
    """Return True if the state of an overdue job is late, or unknown because it has stopped."""
    found = state_of(state, Node.of_job(_ref_of(job)))
    return found == "late" or (found == "unknown" and job["isStopped"])


def _ref_of(job: LateJob) -> JobRef:
    return JobRef(job["job"]["namespace"], job["job"]["name"])


def overdue_job(state: State, job: LateJob) -> Finding:
    """Return the finding about an overdue job, with its state if this is another one than late."""
    found = late_job(job)
    if not _is_late(state, job):
        health = health_of(state, Node.of_job(_ref_of(job)))
        condition = health["state"].replace("_", " ")
        found["message"] = f"was due at {job['dueAt']}, but is {condition}: {health['message']}"
    return found


def late_findings(state: State, overdue: Overdue) -> Iterator[Finding]:
    """Yield findings about late and stopped pipelines, and late datasets that these do not explain.

    Only nodes in `overdue` are late or have stopped.
    """
    jobs = (node.job_ref for node in sorted(overdue.of("job")))
    pipelines = (ref for ref in jobs if _pipeline(state, ref) == ref)
    yield from map(late_job, late_jobs(state, pipelines))
    yield from late_datasets(state, overdue)


def late_datasets(state: State, overdue: Overdue, *, are_all: bool = False) -> Iterator[Finding]:
    """Yield findings about late datasets; by default those whose pipelines are not late."""
    for node in deadline.watched(sorted(overdue.of("dataset"))):
        if state_of(state, node) == "late":
            name = node.dataset_name
            late = late_writes(state, name)
            found = (
                rhythm for rhythm in late if are_all or not _has_late_pipeline(state, rhythm, name)
            )
            if (rhythm := next(found, None)) is not None:
                yield late_dataset(name, rhythm)


def late_writes(state: State, name: DatasetName) -> list[Rhythm]:
    """Return the rhythms by which a late dataset is late, those by most intervals first."""
    late = [rhythm for rhythm in rhythms_of_writers(state, name) if rhythm.is_late(state.now)]
    return sorted(late, key=lambda rhythm: (rhythm.due - state.now) / max(1, rhythm.every))


def _pipeline(state: State, ref: JobRef) -> JobRef:
    """Return the pipeline of the newest run of a job: the job itself unless it is part of one.

    If the newest run of that pipeline is part of another one in turn, return the outermost.
    """
    seen: set[JobRef] = set()
    while ref not in seen and (run := newest_run(state, ref)) is not None:
        seen.add(ref)
        ref = pipeline_of(state, run)
    return ref


def _has_late_pipeline(state: State, rhythm: Rhythm, name: DatasetName) -> bool:
    """Return True if a pipeline of the writers with a rhythm is late itself, with a finding."""
    tasks = (ref for ref in generations_of(state).writers(name) if ref in rhythm.jobs)
    pipelines = {_pipeline(state, ref) for ref in tasks}
    return any(state_of(state, Node.of_job(ref)) == "late" for ref in pipelines)
