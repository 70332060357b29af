"""Find the bad versions of an incident, given a failed check, a run or a version.

A version is the contents of a dataset after one write. A check, such as a dbt test, has assertions;
a `Result` is one of them with its check.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headwater.datasets.quality import Result, checks_of, current_failures
from headwater.datasets.writes import writes_of
from headwater.errors import NotFoundError
from headwater.events import JobRef, run_id_of
from headwater.graph.current import generations_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id
from headwater.identity import DatasetName
from headwater.lookup import find_node
from headwater.nodes.versions import has_version
from headwater.plugins.incidents._named import Version, find_version, version_of
from headwater.plugins.incidents.models import By
from headwater.projection import Run, State
from headwater.projection.derived import descendants_of


@dataclass(slots=True)
class Bad:
    """A bad version, with the failed assertions about it.

    `by` is "time" if a check did not report which version it checked.
    """

    version: Version
    by: By = "version"
    checks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Subject:
    """The subject of an incident: what the user named, and the bad versions found for it.

    `id` is the text that names it in messages: a run id, the id of a node, or DATASET@VERSION.
    """

    kind: Literal["check", "run", "version"]
    id: str
    bad: list[Bad]


def find_subject(state: State, text: str) -> Subject:
    """Return the bad versions of a run's id, a version, or a dataset or job with a failed check.

    For a run, these are the versions whose checks failed in it or in the runs below it or, if none
    failed, the versions that these runs wrote.

    Raises:
        NotFoundError: nothing has that name, the run wrote nothing, or no check fails now.
    """
    if keys := state.runs_by_id.get(run_id_of(text)):
        return _of_runs(state, text, [state.runs[key] for key in keys])
    try:
        named = find_version(state, text)
        return Subject("version", _id(named), [_with_checks(state, named)])
    except NotFoundError:
        if "@" in text:
            raise
    node = find_node(state, text)
    if node.type == "job":
        names = _used_by(state, map(state.runs.__getitem__, state.jobs[node.job_ref].runs))
    else:
        names = {node.dataset_name}
    failures = [
        (name, failure)
        for name in sorted(names)
        for failure in current_failures(state, checks_of(state, name))
        if node.type == "dataset" or _is_of_job(failure, node.job_ref)
    ]
    return subject_of_checks(state, node, failures)


def _is_of_job(failure: Result, ref: JobRef) -> bool:
    """Return True if a run of the job reported the failed check. Its runs below do not count."""
    return failure.check.run is not None and failure.check.run.key.job == ref


def subject_of_version(named: Version) -> Subject:
    """Return a version as a subject, without its failed checks."""
    return Subject("version", _id(named), [Bad(named)])


def subject_of_checks(
    state: State, node: Node, failures: Sequence[tuple[DatasetName, Result]]
) -> Subject:
    """Return the bad versions of failed checks, of a dataset or reported by a job.

    Raises:
        NotFoundError: there are none, or no run is known to have written what was checked.
    """
    if not failures:
        message = f"no check of {node_id(node)} fails now; pass the id of a run, or DATASET@VERSION"
        raise NotFoundError(message)
    return Subject("check", node_id(node), _of_checks(state, failures))


def _of_runs(state: State, text: str, runs: list[Run]) -> Subject:
    """Return the bad versions of runs with one id, as `find_subject` explains.

    `text` is the id as the user wrote it. Raises NotFoundError if the runs wrote nothing.
    """
    members = [*runs, *(below for run in runs for below in descendants_of(state, run))]
    keys = {run.key for run in members}
    failures = [
        (name, Result(check, assertion))
        for name in sorted(_used_by(state, members))
        for check in checks_of(state, name)
        if check.run is not None and check.run.key in keys
        for assertion in check.failed
    ]
    if failures:
        return Subject("run", text, _of_checks(state, failures))
    generations = generations_of(state)
    written = {
        (name, write.version)
        for run in members
        for name in map(state.identity.primary, run.outputs)
        for write in writes_of(generations, name)
        # the run of a write is that of a task, and `run` may be a query of the task
        if write.run.key in keys or generations.levels.owner(run, Level.TASK) is write.run
    }
    if not written:
        raise NotFoundError(f"run {text} is not known to have written anything or failed a check")
    found = [version_of(state, *item) for item in sorted(written)]
    return Subject("run", text, [_with_checks(state, named) for named in found])


def _used_by(state: State, runs: Iterable[Run]) -> set[DatasetName]:
    """Return the datasets that some runs and those below them read or wrote."""
    return {
        state.identity.primary(name)
        for run in runs
        for member in (run, *descendants_of(state, run))
        for name in (*member.inputs, *member.outputs)
    }


def _of_checks(state: State, failures: Sequence[tuple[DatasetName, Result]]) -> list[Bad]:
    """Return the versions that failed checks; if not reported, the newest one before the check.

    Raises:
        NotFoundError: no run is known to have written what was checked.
    """
    generations = generations_of(state)
    found: dict[tuple[DatasetName, str], Bad] = {}
    for name, (check, assertion) in failures:
        by: By = "version"
        version = check.version
        if version is None or not has_version(state, name, version):
            before = [write for write in writes_of(generations, name) if write.at <= check.time]
            newest = max(before, key=lambda write: (write.at, write.version), default=None)
            if newest is None:
                continue
            by, version = "time", newest.version
        bad = found.setdefault((name, version), Bad(version_of(state, name, version), by))
        bad.checks = list(dict.fromkeys([*bad.checks, assertion.title]))
    if not found:
        names = ", ".join(sorted({name.name for name, _ in failures}))
        raise NotFoundError(f"no run is known to have written what the checks of {names} checked")
    return list(found.values())


def _with_checks(state: State, named: Version) -> Bad:
    """Return a version with the failed assertions that its checks reported."""
    checks = [check for check in checks_of(state, named.name) if check.version == named.version]
    titles = dict.fromkeys(assertion.title for check in checks for assertion in check.failed)
    return Bad(named, checks=list(titles))


def _id(named: Version) -> str:
    """Return DATASET@VERSION with the id of the dataset."""
    return f"{node_id(named.node)}@{named.version}"
