"""Health: current failures, late jobs and failed checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from throughline.datasets.quality import checks_of, current_failures, tests_without_dataset
from throughline.events import JobRef, parse_time, shown_time, to_micros
from throughline.graph.current import generations_of
from throughline.graph.levels import Level
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import ancestry_of, is_lost, parent_of
from throughline.query.pages import Place
from throughline.runs.failures import is_failed, is_retried
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

    A root run is the newest of its job that ended or is stale, even while a newer one is running.
    A failed run below counts unless a run above failed, or its pipeline ran again.
    """
    for found in _findings_of(state):
        yield {**found, "state": "open", "note": None, "mutedUntil": None}


def _findings_of(state: State) -> Iterator[Finding]:
    roots = {ref: recent for ref in state.jobs if (recent := _recent_roots(state, ref))}
    decided = {ref: _decided(state, recent) for ref, recent in roots.items()}
    for ref, run in decided.items():
        if run is not None:
            yield from _failed_or_lost(state, run, has_retry=run is not roots[ref][-1])
    for ref in state.jobs:
        for run in generations_of(state).of_runs(ref, "failed parts", partial(_failed, state)):
            if not _is_reported_above(state, run, decided):
                yield _failed_part(state, run)
    yield from map(late_job, late(state, roots))
    for name in sorted(set(state.identity)):
        if failures := current_failures(state, checks_of(state, name)):
            yield failed_checks(name, failures)
    for ref in sorted(state.jobs):
        if failures := current_failures(state, tests_without_dataset(state, ref)):
            yield failed_checks(ref, failures)


def _recent_roots(state: State, ref: JobRef) -> list[Run]:
    """Return the newest finished root run of a job and the open ones after it, oldest first."""

    def recent(runs: list[Run]) -> list[Run]:
        roots = [run for run in runs if parent_of(state, run) is None]
        roots.sort(key=partial(place_of_run, state))
        ended = [place for place, run in enumerate(roots) if outcome(state, run).ended is not None]
        return roots[ended[-1] if ended else 0 :]

    return generations_of(state).of_runs(ref, "recent roots", recent)


def _decided(state: State, recent: list[Run]) -> Run | None:
    """Return the newest of some runs that ended or is stale: a newer one is not decided yet."""
    runs = (
        run
        for run in reversed(recent)
        if outcome(state, run).ended is not None or is_lost(state, run)
    )
    return next(runs, None)


def _failed_or_lost(state: State, run: Run, *, has_retry: bool) -> Iterator[Finding]:
    if outcome(state, run).state in (RunState.FAILED, RunState.ABORTED):
        found = failed_run(state, run)
    elif is_lost(state, run):
        found = lost_run(state, run)
    else:
        return
    if has_retry:
        found["remedy"] = f"a newer run has not ended yet; if it fails too, {found['remedy']}"
    yield found


def _failed(state: State, runs: list[Run]) -> list[Run]:
    """Return the newest failed run among the newest finished ones under one parent."""
    below = [run for run in runs if run.end is not None and parent_of(state, run) is not None]
    newest = max(below, key=partial(place_of_run, state), default=None)
    if newest is None:
        return []
    together = [run for run in below if parent_of(state, run) is parent_of(state, newest)]
    failed = [run for run in together if is_failed(state, run) and not is_retried(state, run)]
    return sorted(failed, key=partial(place_of_run, state))[-1:]


def _is_reported_above(state: State, run: Run, decided: Mapping[JobRef, Run | None]) -> bool:
    """Return True if a run above failed, or if its pipeline was decided again since."""
    _, *above = ancestry_of(state, run)
    if not above or any(is_failed(state, ancestor) for ancestor in above):
        return bool(above)  # without one, runs name each other as parents
    newest = decided.get(above[-1].key.job)
    return newest is not None and place_of_run(state, newest) > place_of_run(state, above[-1])


def _failed_part(state: State, run: Run) -> Finding:
    """Return the finding about a failed run below one that did not fail."""
    found = failed_run(state, run)
    level = generations_of(state).levels.of(run.key.job)
    if level > Level.TASK:
        found["severity"] = "warning"  # its task may handle the error
    return found
