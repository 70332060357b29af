"""Health: current failures, late jobs, failed checks and completeness."""

from __future__ import annotations

from collections.abc import Iterator

from throughline import deadline
from throughline.datasets.quality import checks_of
from throughline.events import JobRef, shown_time
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import is_lost, parent_of
from throughline.trust.completeness import completeness_answer
from throughline.trust.findings import (
    failed_checks,
    failed_run,
    late_job,
    lost_run,
    newest_first,
    place_of,
)
from throughline.trust.freshness import late
from throughline.trust.models import Finding, HealthAnswer, HealthFinding


def health_answer(state: State) -> HealthAnswer:
    """Return failed and stale runs, late jobs, failed checks and the completeness of lineage.

    Runs are the newest of each job that has no parent. Stopped jobs and completeness do not affect
    `isHealthy`.
    """
    findings: list[HealthFinding] = [
        {**found, "state": "open", "note": None, "mutedUntil": None} for found in _findings(state)
    ]
    return {
        "at": shown_time(state.now),
        "isHealthy": all(found["severity"] != "error" for found in findings),
        "counts": {
            "jobs": len(state.jobs),
            "runs": sum(run.has_events for run in state.runs.values()),
            "datasets": len(set(state.identity)),
        },
        "findings": findings,
        "completeness": completeness_answer(state),
    }


def _findings(state: State) -> Iterator[Finding]:
    roots = _newest_roots(state)
    newest = newest_first(state, roots.values())
    failed = (RunState.FAILED, RunState.ABORTED)
    yield from (failed_run(state, run) for run in newest if outcome(state, run).state in failed)
    yield from (lost_run(state, run) for run in newest if is_lost(state, run))
    slow = late(state, roots)
    yield from (late_job(job) for job in slow if not job["isStopped"])
    for name in sorted(set(state.identity)):
        asserted = [check for check in checks_of(state, name) if check.assertions]
        if asserted and (bad := asserted[-1].failed):
            yield failed_checks(name, asserted[-1], bad)
    yield from (late_job(job) for job in slow if job["isStopped"])


def _newest_roots(state: State) -> dict[JobRef, Run]:
    found: dict[JobRef, Run] = {}
    for run in deadline.watched(state.runs.values()):
        if parent_of(state, run) is None:
            newest = found.get(run.key.job)
            if newest is None or place_of(state, run) > place_of(state, newest):
                found[run.key.job] = run
    return found
