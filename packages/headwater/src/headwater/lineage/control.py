"""Control edges: jobs that started others or had to end before them, with or without data.

They come from the facet jobDependencies. A *reference* in it is a job with one of its runs, if the
facet names one. `owner` returns the run of a level that a run is part of.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater import deadline
from headwater.events import JobRef
from headwater.events.facets import Reference
from headwater.graph.generations import Generations
from headwater.graph.levels import Level, Levels
from headwater.projection import Job, Run, State
from headwater.projection.derived import newest_of, parent_of


def control_edges(
    generations: Generations, level: Level | None, near: Iterable[JobRef] | None = None
) -> set[tuple[JobRef, JobRef]]:
    """Return the control dependencies (upstream, downstream) at a level.

    For each job, only the newest run with a jobDependencies facet counts, and its siblings under
    the same parent run. `near` limits the edges to those of some jobs. Ends finer than the level
    are rolled up; an edge within one job is dropped.

    For the level None, ends are the jobs themselves. For `near`, edges are returned if one of their
    ends is among these jobs; None means all edges.
    """
    state, levels = generations.state, generations.levels
    reporting: Iterable[JobRef] = state.jobs
    if near is not None:
        jobs = {job for ref in near for job in generations.families.of(ref).jobs}
        reporting = jobs.union(*(state.named_by.get(job, ()) for job in jobs)) & state.jobs.keys()
    found: set[tuple[JobRef, JobRef]] = set()
    for ref in deadline.watched(reporting):
        for run in _reporting_runs(state, state.jobs[ref]):
            own = _at_level(state, levels, level, Reference(run.key.job, run.key.run_id))
            found |= {(_at_level(state, levels, level, up), own) for up in run.upstream or ()}
            found |= {(own, _at_level(state, levels, level, down)) for down in run.downstream or ()}
    chosen = None if near is None else set(near)
    return {
        (up, down)
        for up, down in found
        if up != down and (chosen is None or up in chosen or down in chosen)
    }


def _reporting_runs(state: State, job: Job) -> list[Run]:
    """Return the newest run of a job with dependencies, and its siblings that also report some.

    A mapped task has one run for each element, and each may name other jobs.
    """
    runs = [state.runs[key] for key in job.runs]
    reporting = [run for run in runs if run.upstream or run.downstream]
    newest = newest_of(reporting)
    parent = parent_of(state, newest) if newest else None
    if newest is None or parent is None:
        return [newest] if newest else []
    return [run for run in reporting if parent_of(state, run) is parent]


def _at_level(state: State, levels: Levels, level: Level | None, end: Reference) -> JobRef:
    """Return the job that stands for an end of a dependency at a level.

    It is the owner of the run that the dependency names, or of the newest run of its job.
    """
    if level is None:
        return end.job
    run = _run_of(state, end)
    return levels.owner(run, level).key.job if run is not None else end.job


def _run_of(state: State, end: Reference) -> Run | None:
    """Return the run that a dependency names, or the newest run of its job."""
    job = state.jobs.get(end.job)
    if job is None:
        return None
    keys = [key for key in job.runs if key.run_id == end.run_id] or list(job.runs)
    return newest_of(state.runs[key] for key in keys)
