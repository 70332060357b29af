"""Find violations of alert rules: pure functions of the state.

The key of a cause is stable, so that it fires only once. Rules about runs check root runs, or with
patterns the runs of the matching jobs: a failed pipeline is one alert that names the failed tasks,
not one alert per task and query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from throughline.alerts.rules import Rule
from throughline.datasets.quality import checks_of
from throughline.datasets.schemas import drift
from throughline.graph.current import generations_of
from throughline.graph.nodes import Node, node_id
from throughline.identity import DatasetName
from throughline.projection import Run, State
from throughline.projection.derived import ancestry_of, is_lost
from throughline.trust.completeness import measure_units, newest_units
from throughline.trust.freshness import late
from throughline.trust.health import causes_of, is_failed


@dataclass(frozen=True, slots=True)
class Cause:
    """A violation of a rule; `node` is the id of its job or dataset."""

    key: str
    message: str
    node: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """Runs and datasets that may have changed since the last check."""

    runs: Iterable[Run]
    datasets: Iterable[DatasetName]


def find_failed(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find runs that failed or were aborted."""
    for run in changed.runs:
        if is_failed(state, run) and _concerns(state, rule, run):
            causes = [f"{cause.key.job.name}: {_error(cause)}" for cause in causes_of(state, run)]
            yield _of_run(run, f"{run.key.job.name} failed ({'; '.join(causes[:3])})")


def find_lost(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find stale runs."""
    for run in state.runs.values():
        is_open = run.has_events and run.end is None and (run.last or 0) < state.stale_before
        if is_open and _concerns(state, rule, run) and is_lost(state, run):
            yield _of_run(run, f"{run.key.job.name} started but sent no end event")


def find_late(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find jobs that are later than usual."""
    jobs = (
        job.ref
        for job in state.jobs.values()
        if (rule.matches_job(job.ref) if rule.jobs else not job.parents)
    )
    for found in late(state, jobs):
        if not found["isStopped"]:
            job = found["job"]
            node = node_id(Node("job", job["namespace"], job["name"]))
            name, due = job["name"], found["dueAt"]
            key = f"{node} {found['lastStartedAt']}"
            yield Cause(key, f"{name} is late: it was due at {due}", node)


def find_quality(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find failed checks of datasets, except those of severity `warn`."""
    for name in _datasets(state, rule, changed):
        for check in checks_of(state, name):
            if check.failed and (check.run is None or rule.matches_job(check.run.key.job)):
                node = node_id(Node.of_dataset(name))
                run_id = check.run.key.run_id if check.run else None
                failed = ", ".join(map(_assertion, check.failed))
                key = f"{node} {run_id or check.time}"
                yield Cause(key, f"{name.name} failed its checks: {failed}", node, run_id)


def find_schema(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Find schema changes of datasets."""
    for name in _datasets(state, rule, changed):
        for change in drift(state, name):
            names = {
                "added": [field["name"] for field in change["added"]],
                "removed": [field["name"] for field in change["removed"]],
                "changed": [field["name"] for field in change["changed"]],
            }
            fields = [f"{kind} {', '.join(listed)}" for kind, listed in names.items() if listed]
            message = f"the schema of {name.name} changed: {'; '.join(fields)}"
            key = f"{change['id']} {change['at']}"
            yield Cause(key, message, change["id"], change["runId"])


def find_completeness(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Find measures of completeness below the limit of the rule."""
    known = generations_of(state)
    units = [unit for unit in newest_units(known) if rule.matches_job(unit.run.key.job)]
    for measure, result in measure_units(known, units).items():
        share = result["share"]
        if rule.measure in (None, measure) and share is not None and share < (rule.below or 0):
            worst = [job["job"]["name"] for job in islice(result["lost"], 3)]
            message = (
                f"{measure}: {share:.0%} of {result['runs']} runs; incomplete: {', '.join(worst)}"
            )
            yield Cause(measure, message)


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
    return not any(ancestor.has_events for ancestor in ancestors)


def _datasets(state: State, rule: Rule, changed: Changed) -> Iterator[DatasetName]:
    for name in set(map(state.identity.primary, changed.datasets)):
        if rule.matches_dataset(state.identity.names(name)):
            yield name


def _of_run(run: Run, message: str) -> Cause:
    node = node_id(Node.of_job(run.key.job))
    return Cause(f"{run.key.run_id} {node}", message, node, run.key.run_id)


def _error(run: Run) -> str:
    return str(run.facets.get("errorMessage").get("message") or "no error message")


def _assertion(assertion: dict[str, object]) -> str:
    column = f" of {assertion['column']}" if assertion.get("column") else ""
    return f"{assertion.get('assertion', 'an assertion')}{column}"
