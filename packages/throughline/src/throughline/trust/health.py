"""Health: current failures, late jobs, failed checks and completeness."""

from __future__ import annotations

from collections.abc import Iterable

from throughline import deadline
from throughline.datasets.quality import checks_of
from throughline.events import JobRef, shown_time
from throughline.graph.generations import Generations
from throughline.graph.nodes import Node, node_id
from throughline.projection import Run, RunKey, RunState, State, outcome
from throughline.projection.derived import (
    began_at,
    children_of,
    descendants_of,
    is_lost,
    parent_of,
)
from throughline.runs.summary import run_line
from throughline.trust.completeness import completeness
from throughline.trust.freshness import late
from throughline.trust.models import FailedChecks, FailedRun, FailureCause, HealthAnswer

_FAILED = (RunState.FAILED, RunState.ABORTED)


def health(known: Generations) -> HealthAnswer:
    """Return root jobs whose newest run failed or is stale, late jobs and failed checks.

    A root is a run without a parent. `isHealthy` is True if there are none of these; `stopped` jobs
    and `completeness` do not count.
    """
    state = known.state
    newest = _newest_roots(state)
    slow = late(state, newest)
    failed = [run for run in newest.values() if outcome(state, run).state in _FAILED]
    lost = [run for run in _newest_first(state, newest.values()) if is_lost(state, run)]
    late_jobs = [job for job in slow if not job["isStopped"]]
    quality = failed_checks(state)
    return {
        "at": shown_time(state.now),
        "isHealthy": not (failed or lost or late_jobs or quality),
        "counts": {
            "jobs": len(state.jobs),
            "runs": sum(run.has_events for run in state.runs.values()),
            "datasets": len(set(state.identity)),
        },
        "failed": [_failure(state, run) for run in _newest_first(state, failed)],
        "lost": [run_line(state, run) for run in lost],
        "late": late_jobs,
        "quality": quality,
        "stopped": [job for job in slow if job["isStopped"]],
        "completeness": completeness(known),
    }


def failed_checks(state: State) -> list[FailedChecks]:
    """Return the failed checks of every dataset whose newest check has some."""
    found: list[FailedChecks] = []
    for name in sorted(set(state.identity)):
        asserted = [check for check in checks_of(state, name) if check.assertions]
        if asserted and asserted[-1].failed:
            check = asserted[-1]
            found.append(
                {
                    "dataset": node_id(Node.of_dataset(name)),
                    "at": shown_time(check.time),
                    "run": run_line(state, check.run) if check.run else None,
                    "version": check.version,
                    "assertions": check.failed,
                }
            )
    return found


def is_failed(state: State, run: Run) -> bool:
    """Return True if a run reported that it failed or was aborted."""
    return run.end is not None and outcome(state, run).state in _FAILED


def causes_of(state: State, run: Run) -> list[Run]:
    """Return the lowest failed descendants of a failed run, without those retried, or itself."""
    failed = [
        other
        for other in descendants_of(state, run)
        if is_failed(state, other) and not is_retried(state, other)
    ]
    parents = {parent.key for other in failed if (parent := parent_of(state, other))}
    return _newest_first(state, [other for other in failed if other.key not in parents]) or [run]


def is_retried(state: State, run: Run) -> bool:
    """Return True if the job ran again under the same parent after this run ended."""
    ended = outcome(state, run).ended or 0
    parent = parent_of(state, run)
    return parent is not None and any(
        other.key.job == run.key.job and (began_at(state, other) or 0) >= ended
        for other in children_of(state, parent)
        if other is not run
    )


def _newest_roots(state: State) -> dict[JobRef, Run]:
    found: dict[JobRef, Run] = {}
    for run in deadline.watched(state.runs.values()):
        if parent_of(state, run) is None:
            newest = found.get(run.key.job)
            if newest is None or _order(state, run) > _order(state, newest):
                found[run.key.job] = run
    return found


def _newest_first(state: State, runs: Iterable[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: _order(state, run), reverse=True)


def _order(state: State, run: Run) -> tuple[int, RunKey]:
    return began_at(state, run) or 0, run.key


def _failure(state: State, run: Run) -> FailedRun:
    causes: list[FailureCause] = []
    for cause in causes_of(state, run):
        message = cause.facets.get("errorMessage").get("message")
        causes.append({**run_line(state, cause), "message": str(message) if message else None})
    return {**run_line(state, run), "causes": causes}
