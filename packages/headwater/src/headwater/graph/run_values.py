"""Values computed from the runs of jobs, cached until a run of the job or one below it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from headwater import deadline
from headwater.events import JobRef
from headwater.projection import Run, State

Answer = TypeVar("Answer")


class _Where(NamedTuple):
    """The jobs with a condition, and those whose condition must be checked again."""

    found: set[JobRef]
    unchecked: set[JobRef]  # not checked yet, or changed since


class RunValues:
    """Cached values of the jobs of a state; its owner calls `forget_runs` for each changed job."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.clear_runs()

    def clear_runs(self) -> None:
        """Clear all values."""
        self._of_runs: dict[JobRef, dict[str, Any]] = {}
        self._where: dict[str, _Where] = {}

    def of_runs(self, ref: JobRef, name: str, derive: Callable[[list[Run]], Answer]) -> Answer:
        """Return a value computed from the runs of a job and from those below it, cached by name.

        `derive` gets the runs of the job. Its result must depend neither on the time nor on the
        facets of jobs and datasets: these change without a call of `forget_runs`.
        """
        cached = self._of_runs.setdefault(ref, {})
        if name not in cached:
            deadline.check()
            job, runs = self.state.jobs.get(ref), self.state.runs
            cached[name] = derive([runs[key] for key in job.runs] if job else [])
        answer: Answer = cached[name]
        return answer

    def jobs_where(
        self,
        name: str,
        holds: Callable[[JobRef], bool],
        may_hold: Callable[[Run], bool] | None = None,
    ) -> set[JobRef]:
        """Return all jobs with a condition, cached by name; it must depend on `of_runs` only.

        `may_hold` must be True for a run of each such job: the first search skips other jobs.
        """
        if name not in self._where:
            runs = self.state.runs.values()
            refs = may_hold and {run.key.job for run in runs if may_hold(run)}
            self._where[name] = _Where(set(), set(self.state.jobs) if refs is None else refs)
        where = self._where[name]
        for ref in deadline.watched(tuple(where.unchecked)):
            (where.found.add if holds(ref) else where.found.discard)(ref)
            where.unchecked.discard(ref)
        return where.found

    def forget_runs(self, ref: JobRef) -> None:
        """Clear the values of a job whose runs changed."""
        self._of_runs.pop(ref, None)
        for where in self._where.values():
            where.unchecked.add(ref)
