"""Find violations of alert rules: pure functions of the state.

The key of a cause is stable, so that it fires only once. Rules about runs check root runs, or with
patterns the runs of the matching jobs: a failed pipeline is one alert that names the failed tasks,
not one alert per task and query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from headwater.alerts.rules import Rule
from headwater.datasets.quality import Failure, checks_of
from headwater.datasets.schemas import drift
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node
from headwater.health.freshness import is_ad_hoc, late
from headwater.identity import DatasetName
from headwater.projection import Run, State
from headwater.projection.derived import ancestry_of, is_lost
from headwater.runs.failures import is_failed
from headwater.text import counted
from headwater.trust.completeness import measure_units, newest_units
from headwater.trust.findings import (
    failed_checks,
    failed_run,
    finding,
    late_job,
    lost_run,
    name_of_subject,
    names_of,
    warning,
)
from headwater.trust.models import Finding


class Cause(NamedTuple):
    """A violation of a rule."""

    key: str
    finding: Finding


class Changed(NamedTuple):
    """Runs and datasets that may have changed since the last check."""

    runs: Iterable[Run]
    datasets: Iterable[DatasetName]


def find_failed(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find runs that failed or were aborted."""
    for run in changed.runs:
        if is_failed(state, run) and _concerns(state, rule, run):
            yield _of_run(failed_run(state, run))


def find_lost(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find stale runs."""
    for run in state.runs.values():
        is_open = run.has_events and run.end is None and (run.last or 0) < state.stale_before
        if is_open and _concerns(state, rule, run) and is_lost(state, run):
            yield _of_run(lost_run(state, run))


def find_late(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find jobs that are later than usual."""
    jobs = (
        job.ref
        for job in state.jobs.values()
        if (rule.matches_job(job.ref) if rule.jobs else not job.parents)
    )
    for job in late(state, jobs):
        if not job["isStopped"]:
            found = late_job(job)
            yield _cause(f"{found['subject']} {job['lastStartedAt']}", found)


def find_quality(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find failed checks of datasets, except those of severity `warn`."""
    for name in _datasets(state, rule, changed):
        for check in checks_of(state, name):
            if check.failed and (check.run is None or rule.matches_job(check.run.key.job)):
                failures = [Failure(check, assertion) for assertion in check.failed]
                found = failed_checks(Node.of_dataset(name), failures)
                yield _cause(f"{found['subject']} {found['runId'] or check.time}", found)


def find_schema(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find schema changes of datasets."""
    remedy = "check that the jobs that read it expect the change"
    for name in _datasets(state, rule, changed):
        for change in drift(state, name):
            names = {
                "added": [field["name"] for field in change["added"]],
                "removed": [field["name"] for field in change["removed"]],
                "changed": [field["name"] for field in change["changed"]],
            }
            fields = [f"{kind} {', '.join(listed)}" for kind, listed in names.items() if listed]
            message = f"has another schema: {'; '.join(fields)}"
            found = warning("schema", name, message, remedy)
            found["runId"], found["at"] = change["runId"], change["at"]
            yield _cause(f"{change['id']} {change['at']}", found)


def find_completeness(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find measures of completeness below the limit of the rule."""
    known = generations_of(state)
    units = [unit for unit in newest_units(known) if rule.matches_job(unit.run.key.job)]
    remedy = "make the producers of these jobs report more; `headwater health` lists them"
    for measure, result in measure_units(known, units).items():
        share, unknown = result["share"], result["unknownRuns"]
        is_low = unknown > 0 if share is None else share < (rule.below or 0)
        if rule.measure in (None, measure) and is_low:
            worst, runs = names_of(result["findings"]), counted(result["runs"], "run")
            stated = f"unknown for {unknown}" if share is None else f"reported by {share:.0%}"
            message = f"{stated} of {runs}; incomplete: {worst}"
            yield _cause(measure, finding("completeness", measure, message, remedy))


FINDERS: dict[str, Callable[[State, Rule, Changed], Iterator[Cause]]] = {
    "failed": find_failed,
    "quality": find_quality,
    "schema": find_schema,
    "lost": find_lost,
    "late": find_late,
    "completeness": find_completeness,
}
"""The finder of each kind of rule."""

STANDING = frozenset({"lost", "late", "completeness"})
"""Kinds that depend on the time or on all runs: they are checked periodically."""


def _concerns(state: State, rule: Rule, run: Run) -> bool:
    if rule.jobs:
        return rule.matches_job(run.key.job)
    _, *ancestors = ancestry_of(state, run)
    is_root = not any(ancestor.has_events for ancestor in ancestors)
    return is_root and not is_ad_hoc(state, run.key.job)  # whoever runs it sees its error


def _datasets(state: State, rule: Rule, changed: Changed) -> Iterator[DatasetName]:
    for name in set(map(state.identity.primary, changed.datasets)):
        if rule.matches_dataset(state.identity.names(name)):
            yield name


def _of_run(found: Finding) -> Cause:
    return _cause(f"{found['runId']} {found['subject']}", found)


def _cause(key: str, found: Finding) -> Cause:
    """Return a cause whose message also names the subject, because it is shown on its own."""
    return Cause(key, {**found, "message": f"{name_of_subject(found)} {found['message']}"})
