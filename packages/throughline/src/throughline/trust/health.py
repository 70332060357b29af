"""Health: what is wrong right now, and what nobody told."""

from __future__ import annotations

from collections.abc import Iterable

from throughline import deadline
from throughline.graph.generations import Generations
from throughline.graph.nodes import Node, node_id
from throughline.graph.quality import checks_of
from throughline.graph.walk import run_line
from throughline.projection import Run, RunKey, RunState, State, outcome
from throughline.projection.derived import (
    began_at,
    children_of,
    descendants_of,
    is_lost,
    parent_of,
)
from throughline.spec import JobRef, shown_time
from throughline.trust.completeness import completeness
from throughline.trust.freshness import late
from throughline.trust.models import FailedChecks, FailedRun, FailureCause, HealthAnswer

_OVER_BADLY = (RunState.FAILED, RunState.ABORTED)


def health(known: Generations) -> HealthAnswer:
    """What is wrong: roots whose newest run failed or is lost, late jobs, failed checks.

    A root is a run that nothing started. `isHealthy` tells whether there is none of these;
    `stopped` jobs and what `completeness` names are for people to judge.
    """
    state = known.state
    newest = _newest_roots(state)
    slow = late(state, newest)
    failed = [run for run in newest.values() if outcome(state, run).state in _OVER_BADLY]
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
        if asserted and (broken := asserted[-1].failed):
            check = asserted[-1]
            found.append(
                {
                    "dataset": node_id(Node.of_dataset(name)),
                    "at": shown_time(check.time),
                    "run": run_line(state, check.run) if check.run else None,
                    "version": check.version,
                    "assertions": broken,
                }
            )
    return found


def is_failed(state: State, run: Run) -> bool:
    """Whether a run said itself that it failed or was aborted."""
    return run.end is not None and outcome(state, run).state in _OVER_BADLY


def causes_of(state: State, run: Run) -> list[Run]:
    """Of a failed run the failed ones lowest below it, tries that were repeated left out."""
    below = [each for each in descendants_of(state, run) if is_failed(state, each)]
    failed = [each for each in below if not is_repeated(state, each)]
    above = {parent.key for each in failed if (parent := parent_of(state, each))}
    return _newest_first(state, [each for each in failed if each.key not in above]) or [run]


def is_repeated(state: State, run: Run) -> bool:
    """Whether the job was tried again under the same parent after this run was over."""
    over = outcome(state, run).ended or 0
    above = parent_of(state, run)
    return above is not None and any(
        other.key.job == run.key.job and (began_at(state, other) or 0) >= over
        for other in children_of(state, above)
        if other is not run
    )


def _newest_roots(state: State) -> dict[JobRef, Run]:
    found: dict[JobRef, Run] = {}
    for run in deadline.watched(state.runs.values()):
        if parent_of(state, run) is None:
            held = found.get(run.key.job)
            if held is None or _order(state, run) > _order(state, held):
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
