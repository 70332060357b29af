"""What breaks a rule: pure functions of what is known.

A cause has a key that stays the same however often it is looked for. Rules about runs look at those
that nothing else started, or with patterns at the runs of just these jobs: a pipeline that fails is
one alert that names what failed in it, not one for each task and query on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from throughline.alerts.rules import Rule
from throughline.graph.current import generations_of
from throughline.graph.nodes import Node, node_id
from throughline.graph.quality import checks_of
from throughline.graph.schemas import drift
from throughline.identity import DatasetName
from throughline.projection import Run, State
from throughline.projection.derived import ancestry_of, is_lost
from throughline.trust.completeness import measure_units, newest_units
from throughline.trust.freshness import late
from throughline.trust.health import causes_of, is_failed


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a rule is broken; `node` is the id of the job or dataset that it is about."""

    key: str
    message: str
    node: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """What may have changed since the last look."""

    runs: Iterable[Run]
    datasets: Iterable[DatasetName]


def find_failed(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Runs that failed or were aborted."""
    for run in changed.runs:
        if is_failed(state, run) and _is_about(state, rule, run):
            told = [f"{each.key.job.name}: {_said(each)}" for each in causes_of(state, run)]
            yield _of_run(run, f"{run.key.job.name} failed ({'; '.join(told[:3])})")


def find_lost(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Runs that began and were not heard of for too long."""
    for run in state.runs.values():
        is_open = run.has_events and run.end is None and (run.last or 0) < state.stale_before
        if is_open and _is_about(state, rule, run) and is_lost(state, run):
            yield _of_run(run, f"{run.key.job.name} began and was not heard of again")


def find_late(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Jobs that are late against their own rhythm."""
    jobs = (
        job.ref
        for job in state.jobs.values()
        if (rule.is_about_job(job.ref) if rule.jobs else not job.parents)
    )
    for found in late(state, jobs):
        if not found["isStopped"]:
            job = found["job"]
            node = node_id(Node("job", job["namespace"], job["name"]))
            name, due = job["name"], found["dueAt"]
            key = f"{node} {found['lastStartedAt']}"
            yield Cause(key, f"{name} is late: it was due at {due}", node)


def find_quality(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Checks of a dataset that failed; those that only warn do not count."""
    for name in _datasets(state, rule, changed):
        for check in checks_of(state, name):
            if check.failed and (check.run is None or rule.is_about_job(check.run.key.job)):
                node, run_id = (
                    node_id(Node.of_dataset(name)),
                    check.run.key.run_id if check.run else None,
                )
                broken = ", ".join(map(_assertion, check.failed))
                key = f"{node} {run_id or check.time}"
                yield Cause(key, f"{name.name} does not pass: {broken}", node, run_id)


def find_schema(state: State, rule: Rule, changed: Changed) -> Iterator[Cause]:
    """Changes of the schema of a dataset."""
    for name in _datasets(state, rule, changed):
        for change in drift(state, name):
            names = {
                "added": [field["name"] for field in change["added"]],
                "removed": [field["name"] for field in change["removed"]],
                "changed": [field["name"] for field in change["changed"]],
            }
            fields = [f"{how} {', '.join(names[how])}" for how in names if names[how]]
            message = f"the schema of {name.name} changed: {'; '.join(fields)}"
            key = f"{change['id']} {change['at']}"
            yield Cause(key, message, change["id"], change["runId"])


def find_completeness(state: State, rule: Rule, _changed: Changed) -> Iterator[Cause]:
    """Measures of completeness that are below what the rule asks for."""
    known = generations_of(state)
    units = [unit for unit in newest_units(known) if rule.is_about_job(unit.run.key.job)]
    for measure, found in measure_units(known, units).items():
        share = found["share"]
        if rule.measure in (None, measure) and share is not None and share < (rule.below or 0):
            worst = [each["job"]["name"] for each in islice(found["lost"], 3)]
            message = f"{measure}: {share:.0%} of {found['runs']} runs, without {', '.join(worst)}"
            yield Cause(measure, message)


FINDERS: dict[str, Callable[[State, Rule, Changed], Iterator[Cause]]] = {
    "failed": find_failed,
    "quality": find_quality,
    "schema": find_schema,
    "lost": find_lost,
    "late": find_late,
    "completeness": find_completeness,
}
"""How each kind of rule is looked for."""

STANDING = frozenset({"lost", "late", "completeness"})
"""Kinds that time alone can break, or that everything counts for: looked for now and then."""


def _is_about(state: State, rule: Rule, run: Run) -> bool:
    if rule.jobs:
        return rule.is_about_job(run.key.job)
    _, *above = ancestry_of(state, run)
    return not any(each.has_events for each in above)


def _datasets(state: State, rule: Rule, changed: Changed) -> Iterator[DatasetName]:
    for name in {state.identity.primary(each) for each in changed.datasets}:
        if rule.is_about_dataset(state.identity.names(name)):
            yield name


def _of_run(run: Run, message: str) -> Cause:
    node = node_id(Node.of_job(run.key.job))
    return Cause(f"{run.key.run_id} {node}", message, node, run.key.run_id)


def _said(run: Run) -> str:
    return str(run.facets.get("errorMessage").get("message") or "it did not say why")


def _assertion(found: dict[str, object]) -> str:
    column = f" of {found['column']}" if found.get("column") else ""
    return f"{found.get('assertion', 'an assertion')}{column}"
