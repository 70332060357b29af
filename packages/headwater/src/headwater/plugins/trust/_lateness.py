"""Lateness of a node: its due time and the problems upstream.

A rhythm (`health.freshness`) has the last start of a node and the usual interval, from which the
due time follows. It is late when its longest usual interval has passed, and stopped when it seems
to be switched off.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from headwater import deadline
from headwater.events import JobRef, shown_time
from headwater.graph.current import generations_of, graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, name_of, node_id
from headwater.graph.walk import reach
from headwater.health.findings import failed_run, late_job, lost_run, warning
from headwater.health.late import late_jobs
from headwater.health.models import Finding
from headwater.health.rules import lateness_of
from headwater.health.states import health_of
from headwater.lineage.neighborhood import at_level
from headwater.lookup import find_node
from headwater.plugins.trust.models import LatenessAnswer, Reason
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    descendants_of,
    is_lost,
    is_streaming,
    parent_of,
)
from headwater.query.parameters import Name
from headwater.runs.failures import causes_of, is_failed
from headwater.runs.summary import newest_run

_KINDS = ("failed", "lost", "running", "late")  # failures first: they often delay the others
_MOST = 20  # reasons


def lateness_answer(state: State, node: Name) -> LatenessAnswer:
    """Return when a node was due, and the runs upstream that failed, are stale, running or late.

    The interval of its writes determines when a dataset is due. If several pipelines write it,
    `job` is the one that is latest, or else due next. Without `reasons`, upstream is healthy and
    the job itself was not started.

    Without evidence of a schedule, the times are null. `reasons` includes the node's own problems.
    """
    found = find_node(state, node)
    rhythm = lateness_of(state, found)
    due = rhythm and rhythm.due
    return {
        "node": node_id(found),
        "lastAt": shown_time(rhythm and rhythm.last),
        "everySeconds": rhythm and rhythm.every // 1_000_000,
        "dueAt": shown_time(due),
        "job": name_of(rhythm.job) if rhythm and rhythm.job else None,
        "lateSeconds": max(0, state.now - due) // 1_000_000 if due else None,
        "isLate": bool(rhythm and rhythm.is_late(state.now)),
        "isStopped": bool(rhythm and rhythm.is_stopped(state.now)),
        "health": health_of(state, found),
        "reasons": _reasons(state, found),
    }


def _reasons(state: State, node: Node) -> list[Reason]:
    """Return the problems that may delay a node, its own and those upstream, ordered by kind.

    They are at most 20, the nearest ones. One that is the cause of several upstream runs, such as a
    failed task of their pipeline, is listed once, with the distance of the nearest.
    """
    found: dict[tuple[str, str], Reason] = {}
    upstream = sorted(_upstream(state, node))
    tasks = {ref for _, ref in upstream if not _is_pipeline(state, ref)}
    for distance, ref in upstream:
        for problem in _problems(state, ref, tasks):
            if problem["kind"] == "late" and Node.of_job(ref) == node:
                continue  # this is the query itself
            key = problem["kind"], problem["subject"]
            found.setdefault(key, {**problem, "distance": distance})
        if len(found) >= _MOST:
            break
    return sorted(found.values(), key=lambda reason: _KINDS.index(reason["kind"]))[:_MOST]


def _upstream(state: State, node: Node) -> Iterator[tuple[int, JobRef]]:
    """Yield the upstream tasks of a node, and the pipelines that run them, with their distances.

    Distances are steps along edges; a pipeline has the distance of its nearest task.
    """
    known, graph = generations_of(state), graph_of(state, Level.TASK)
    steps: dict[JobRef, int] = {}
    for root in at_level(known, graph, node, Level.TASK):
        for other, distance in {root: 0, **reach(graph, root, "up", -1)}.items():
            if other.type == "job":
                ref = other.job_ref
                steps[ref] = min(distance, steps.get(ref, distance))
    for ref, distance in deadline.watched(steps.items()):
        yield distance, ref
        if run := newest_run(state, ref):
            top = known.levels.lineage(run)[-1].key.job
            if top not in steps:
                yield distance, top


def _is_pipeline(state: State, ref: JobRef) -> bool:
    return generations_of(state).levels.of(ref) is Level.PIPELINE


def _causes(state: State, run: Run, tasks: Set[JobRef]) -> list[Run]:
    """Return the causes of a failed run that are upstream.

    Of a pipeline these are the failed upstream tasks; any cause if it failed before it reached one.

    `run` is the newest run of an upstream job, and `tasks` are all upstream tasks.
    """
    causes = causes_of(state, run)
    if run.key.job in tasks:
        return causes
    upstream = [c for c in causes if tasks & {above.key.job for above in ancestry_of(state, c)}]
    reached = any(below.key.job in tasks for below in descendants_of(state, run))
    return upstream if upstream or reached else causes


def _problems(state: State, ref: JobRef, tasks: Set[JobRef]) -> Iterator[Finding]:
    """Yield the problems of an upstream task, or of the pipeline that runs upstream tasks.

    The time of a failure is the start of the first of the consecutive failed runs.
    """
    run = newest_run(state, ref)
    if run is None:
        return
    if is_failed(state, run):
        for cause in _causes(state, run, tasks):
            since = shown_time(began_at(state, _first_failed(state, cause)))
            yield {**failed_run(state, cause), "at": since}
    elif is_lost(state, run):
        yield lost_run(state, run)
    elif run.end is None and not is_streaming(state, run):
        at = began_at(state, run)
        yield warning("running", ref, "is still running", "wait for its end", run=run, at=at)
    # Only roots are checked: tasks are late with their pipeline.
    if parent_of(state, run) is None:
        for job in late_jobs(state, [ref]):
            found = late_job(job)
            found["kind"] = "late"  # also if it has stopped
            yield found


def _first_failed(state: State, run: Run) -> Run:
    """Return the first of the consecutive failed runs of a job that end with this one."""
    runs = [state.runs[key] for key in state.jobs[run.key.job].runs]
    ordered = sorted(deadline.watched(runs), key=lambda r: (began_at(state, r) or 0, r.key))
    first = run
    for earlier in reversed(ordered[: ordered.index(run)]):
        if outcome(state, earlier).state is RunState.COMPLETED:
            break
        first = earlier
    return first
