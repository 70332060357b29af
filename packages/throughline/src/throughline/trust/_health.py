"""Health: current failures, late jobs and failed checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from throughline.datasets.quality import checks_of
from throughline.events import JobRef, parse_time, shown_time, to_micros
from throughline.graph.current import generations_of
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import is_lost, parent_of
from throughline.query.pages import Place
from throughline.runs.summary import place_of_run
from throughline.trust.findings import failed_checks, failed_run, late_job, lost_run
from throughline.trust.freshness import late
from throughline.trust.models import Finding, HealthAnswer, HealthFinding

_KINDS = ("failed", "lost", "late", "quality", "stopped")
_LATEST = 2**62  # microseconds


class HealthWithFindings(HealthAnswer):
    """Health with its findings, to which their stored states are added."""

    findings: list[HealthFinding]


def health_answer(state: State) -> HealthAnswer:
    """Return the size of the graph and the number of open findings; `findings` lists them.

    Stopped jobs do not affect `isHealthy`.
    """
    findings = sorted(findings_of(state), key=place_of_finding)
    errors, warnings = open_counts(findings)
    health: HealthWithFindings = {
        "at": shown_time(state.now),
        "isHealthy": not errors,
        "counts": {
            "jobs": len(state.jobs),
            "runs": sum(run.has_events for run in state.runs.values()),
            "datasets": len(state.identity),
            "errors": errors,
            "warnings": warnings,
        },
        "findings": findings,
    }
    return health


def open_counts(findings: Iterable[HealthFinding]) -> tuple[int, int]:
    """Return the numbers of open errors and warnings."""
    count = Counter(found["severity"] for found in findings if found["state"] == "open")
    return count["error"], count["warning"]


def place_of_finding(found: Finding) -> Place:
    """Return the sort key of a finding: its kind, the newest first or the longest late first."""
    time = to_micros(parse_time(found["at"])) if found["at"] else 0
    is_late = found["kind"] in ("late", "stopped")
    rank = time if is_late else _LATEST - time
    return _KINDS.index(found["kind"]), rank, found["subject"], found["runId"] or ""


def findings_of(state: State) -> Iterator[HealthFinding]:
    """Yield failed and stale runs, late and stopped jobs, and failed checks, all of them open.

    Runs are the newest of each job that has no parent.
    """
    for found in _findings_of(state):
        yield {**found, "state": "open", "note": None, "mutedUntil": None}


def _findings_of(state: State) -> Iterator[Finding]:
    roots = _newest_roots(state)
    failed = (RunState.FAILED, RunState.ABORTED)
    for run in roots.values():
        if outcome(state, run).state in failed:
            yield failed_run(state, run)
        elif is_lost(state, run):
            yield lost_run(state, run)
    yield from map(late_job, late(state, roots))
    for name in sorted(set(state.identity)):
        asserted = [check for check in checks_of(state, name) if check.assertions]
        if asserted and (bad := asserted[-1].failed):
            yield failed_checks(name, asserted[-1], bad)


def _newest_roots(state: State) -> dict[JobRef, Run]:
    def newest(runs: list[Run]) -> Run | None:
        roots = (run for run in runs if parent_of(state, run) is None)
        return max(roots, key=partial(place_of_run, state), default=None)

    generations = generations_of(state)
    found = {ref: generations.of_runs(ref, "newest root", newest) for ref in state.jobs}
    return {ref: run for ref, run in found.items() if run is not None}
