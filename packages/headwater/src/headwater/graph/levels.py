"""Levels of the graph: pipelines, tasks and queries.

The level of a job comes from its jobType facet. Without one it follows from the hierarchy of runs:
a parent of a query is a task, a root with children is a pipeline, and any other job is one level
finer than its parent. A job without parent and children is a query and represents itself at every
level.
"""

from __future__ import annotations

from enum import IntEnum

from headwater.events import JobRef
from headwater.events.facets import JobType
from headwater.projection import Job, Run, RunKey, State
from headwater.projection.derived import ancestry_of


class Level(IntEnum):
    """Level of detail of a graph; a greater one is coarser."""

    QUERY = 0
    TASK = 1
    PIPELINE = 2


_PIPELINES = {"DAG", "FLOW", "PIPELINE", "WORKFLOW"}
_TASKS = {"TASK", "STEP"}
_HIGHEST_TREE = 50  # more than in any real tree; prevents a stack overflow
_DBT_LEVELS = {"JOB": Level.PIPELINE, "PROJECT": Level.PIPELINE}


class Levels:
    """The level of every job, and the owner of every run at a level.

    `clear` must be called for jobs whose runs got other parents.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._levels: dict[JobRef, Level] = {}
        self._lineage: dict[RunKey, tuple[Run, ...]] = {}

    def of(self, ref: JobRef) -> Level:
        """Return the level of a job."""
        level = self._levels.get(ref)
        if level is None:
            level = self._levels[ref] = self._infer(ref, frozenset())
        return level

    def clear(self, job: Job) -> None:
        """Clear the level of a job and the ancestors of its runs."""
        self._levels.pop(job.ref, None)
        for key in job.runs:
            self._lineage.pop(key, None)

    def lineage(self, run: Run) -> tuple[Run, ...]:
        """Return the run and its ancestors, nearest first."""
        lineage = self._lineage.get(run.key)
        if lineage is None:
            lineage = self._lineage[run.key] = tuple(ancestry_of(self._state, run))
        return lineage

    def owner(self, run: Run, level: Level) -> Run:
        """Return the run of the level that a run is part of: itself or its nearest ancestor.

        For a query of a task, the owner at the level TASK is the task's run, at PIPELINE that of
        its DAG. If there is none, return the highest finer run (the application, for a query of an
        application without a parent). A run coarser than the level represents itself.
        """
        finer = run
        if self.of(run.key.job) > level:
            return run
        for above in self.lineage(run):
            found = self.of(above.key.job)
            if found == level:
                return above
            if found < level:
                finer = above
        return finer

    def _infer(self, ref: JobRef, visited: frozenset[JobRef]) -> Level:
        """Return the level of a job; `visited` are the jobs below it whose levels depend on it.

        Only jobs that other events name have `root_hints`: the roots that their children report,
        which stand for unknown parents. With several parents, the first by name decides.
        """
        job = self._state.jobs.get(ref)
        if job is None or len(visited) > _HIGHEST_TREE:
            return Level.QUERY
        stated = _stated_level(job)
        if stated is not None:
            return stated
        if any(self._is_query(child) for child in (job.children or set()) - visited):
            return Level.TASK
        hints = job.root_hints if job.first is None else None  # the roots that its children name
        above = sorted((job.parents or hints or set()) - visited)
        if above:
            coarser = self._infer(above[0], visited | {ref})
            return Level(max(coarser - 1, Level.QUERY))
        return Level.PIPELINE if job.children else Level.QUERY

    def _is_query(self, ref: JobRef) -> bool:
        return _stated_level(self._state.jobs[ref]) is Level.QUERY


def _stated_level(job: Job) -> Level | None:
    """Return the level that the jobType facet states; None if it states none.

    A type of dbt that is no job or project, such as a model, is a task. Other unknown types are
    queries.
    """
    facet = job.facets.parsed(JobType)
    if facet.jobType is None:
        return None
    kind = facet.jobType.upper()
    if kind in _PIPELINES:
        return Level.PIPELINE
    if kind in _TASKS:
        return Level.TASK
    if (facet.integration or "").upper() == "DBT":
        return _DBT_LEVELS.get(kind, Level.TASK)
    return Level.QUERY
