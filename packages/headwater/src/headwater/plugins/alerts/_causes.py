"""Find violations of alert rules: pure functions of the state.

The key of a cause is stable, so that it fires only once. Rules about runs check root runs, or with
patterns the runs of the matching jobs: a failed pipeline is one alert that names the failed tasks,
not one alert per task and query.

A rule is an entry of the alerts file. `Plugin.alerts` has a function per kind of rule; `watch`
calls it after new events and periodically, with what changed, and performs the rule's actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater.datasets.quality import Result, checks_of
from headwater.datasets.schemas import drift
from headwater.graph.nodes import Node
from headwater.health.findings import (
    failed_checks,
    failed_run,
    lost_run,
    warning,
)
from headwater.health.freshness import is_ad_hoc
from headwater.health.late import late_datasets, overdue_job, overdue_jobs
from headwater.health.models import Finding
from headwater.health.overdue import overdue_nodes
from headwater.identity import DatasetName
from headwater.lookup import find_node
from headwater.plugins.alerts.rules import Rule
from headwater.projection import Run, State
from headwater.projection.derived import ancestry_of, is_lost
from headwater.runs.failures import is_failed

Cause = tuple[str, Finding]
"""The key of a violation of a rule, and the finding of the violation."""


class Changed(NamedTuple):
    """Runs and datasets that may have changed since the last check."""

    runs: Iterable[Run]
    datasets: Iterable[DatasetName]


def find_failed(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find runs that failed or were aborted.

    Only the runs in `changed` are searched.
    """
    for run in changed.runs:
        if is_failed(state, run) and _concerns(state, rule, run):
            yield _of_run(failed_run(state, run))


def find_lost(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find runs without an end event for longer than the setting allows."""
    for run in state.runs.values():
        # the last event is old enough; `is_lost` also considers the runs below, which is slower
        is_open = run.has_events and run.end is None and (run.last or 0) < state.stale_before
        if is_open and _concerns(state, rule, run) and is_lost(state, run):
            yield _of_run(lost_run(state, run))


def find_late(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find late jobs and datasets, and due jobs that failed or wait for a failed job.

    With patterns only for datasets, jobs are omitted, and the other way round. Without patterns,
    tasks are omitted, and datasets whose pipelines are late themselves. The key has the last start
    or the due time, so a job that ran again and is late again fires again.
    """
    if rule.jobs or not rule.datasets:
        yield from _late_jobs(state, rule)
    if rule.datasets or not rule.jobs:
        for found in late_datasets(state, overdue_nodes(state), are_all=bool(rule.datasets)):
            names = state.identity.names(find_node(state, found["subject"]).dataset_name)
            if rule.matches_dataset(names):
                yield f"{found['subject']} {found['at']}", found


def _late_jobs(state: State, rule: Rule) -> Iterator[Cause]:
    jobs = (
        job.ref
        for job in state.jobs.values()
        if (rule.matches_job(job.ref) if rule.jobs else not job.parents)
    )
    for job in overdue_jobs(state, jobs):
        if not job["isStopped"]:
            found = overdue_job(state, job)
            yield f"{found['subject']} {job['lastStartedAt']}", found


def find_quality(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find failed checks of datasets, except those of severity `warn`."""
    for name in _datasets(state, rule, changed):
        for check in checks_of(state, name):
            if check.failed and (check.run is None or rule.matches_job(check.run.key.job)):
                failures = [Result(check, assertion) for assertion in check.failed]
                found = failed_checks(Node.of_dataset(name), failures)
                yield f"{found['subject']} {found['runId'] or check.time}", found


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
            yield f"{change['id']} {change['at']}", found


OF_EVENTS = frozenset({"failed", "quality", "schema"})
"""Kinds whose causes arise only from new events; the others are checked periodically."""

ONCE = OF_EVENTS | {"lost", "late"}
"""Kinds whose causes never recur; causes of other kinds may be resolved and fire again."""


def _concerns(state: State, rule: Rule, run: Run) -> bool:
    """Return True if a rule is about a run.

    Without patterns, it is about root runs, except those of jobs that people run by hand.
    """
    if rule.jobs:
        return rule.matches_job(run.key.job)
    _, *ancestors = ancestry_of(state, run)
    is_root = not any(ancestor.has_events for ancestor in ancestors)
    return is_root and not is_ad_hoc(state, run.key.job)  # whoever runs it sees its error


def _datasets(state: State, rule: Rule, changed: Changed) -> Iterator[DatasetName]:
    """Yield the primary names of the changed datasets that a rule is about."""
    for name in set(map(state.identity.primary, changed.datasets)):
        if rule.matches_dataset(state.identity.names(name)):
            yield name


def _of_run(found: Finding) -> Cause:
    """Return the cause of a finding about a run: it fires once per run."""
    return f"{found['runId']} {found['subject']}", found
