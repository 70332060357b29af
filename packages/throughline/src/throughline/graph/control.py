"""Control dependencies between jobs, from the jobDependencies facet. They are never data."""

from __future__ import annotations

from throughline import deadline
from throughline.events import JobRef
from throughline.graph.levels import Level, Levels
from throughline.projection import Job, Run, State, start_of
from throughline.projection.derived import parent_of
from throughline.projection.state import Dependency


def control_edges(state: State, level: Level | None) -> set[tuple[JobRef, JobRef]]:
    """Return every control dependency (upstream, downstream) at a level.
    For each job the newest run with a jobDependencies facet counts, with its siblings under the
    same parent run. Ends finer than the level are rolled up; an edge within one job is dropped.
    """
    levels = Levels(state)
    found: set[tuple[JobRef, JobRef]] = set()
    for job in state.jobs.values():
        deadline.check()
        for run in _reporting_runs(state, job):
            own = _at_level(state, levels, level, Dependency(run.key.job, run.key.run_id))
            found |= {(_at_level(state, levels, level, up), own) for up in run.upstream or ()}
            found |= {(own, _at_level(state, levels, level, down)) for down in run.downstream or ()}
    return {(up, down) for up, down in found if up != down}


def _reporting_runs(state: State, job: Job) -> list[Run]:
    runs = [state.runs[key] for key in job.runs]
    reporting = [run for run in runs if run.upstream or run.downstream]
    if not reporting:
        return []
    newest = max(reporting, key=lambda run: (start_of(run) or 0, run.key))
    parent = parent_of(state, newest)
    if parent is None:
        return [newest]
    return [run for run in reporting if parent_of(state, run) is parent]


def _at_level(state: State, levels: Levels, level: Level | None, end: Dependency) -> JobRef:
    if level is None:
        return end.job
    run = _run_of(state, end)
    return levels.owner(run, level).key.job if run is not None else end.job


def _run_of(state: State, end: Dependency) -> Run | None:
    """Return the run that a dependency names, or the newest run of its job."""
    job = state.jobs.get(end.job)
    if job is None:
        return None
    keys = [key for key in job.runs if key.run_id == end.run_id] or list(job.runs)
    runs = [state.runs[key] for key in keys]
    return max(runs, key=lambda run: (start_of(run) or 0, run.key), default=None)
