"""The alert rule `incident`: one message per failed dataset or recalled version.

The plugin of alerts calls `find_incidents`, stores the keys, and performs the actions of the rule
for each new one. The subject of an incident has the bad versions of a dataset (`_subject`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from headwater import deadline
from headwater.datasets.quality import checks_of, current_failures
from headwater.datasets.taints import taints_of
from headwater.errors import NotFoundError
from headwater.events import shown_time
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node
from headwater.health.findings import finding
from headwater.health.models import Finding
from headwater.identity import DatasetName
from headwater.plugins.incidents._incident import message_of, writes_to_repeat
from headwater.plugins.incidents._named import version_of
from headwater.plugins.incidents._readers import readers_of
from headwater.plugins.incidents._rerun import reruns
from headwater.plugins.incidents._subject import Subject, subject_of_checks, subject_of_version
from headwater.plugins.incidents._version import spread_of
from headwater.projection import State


class _Rule(Protocol):
    """A rule of the alerts file, as the plugin of alerts passes it."""

    def matches_dataset(self, names: Iterable[DatasetName]) -> bool:
        """Return True if the rule is about a dataset, given all its names."""
        ...


def find_incidents(state: State, rule: _Rule, _changed: object) -> Iterator[tuple[str, Finding]]:
    """Yield a key and a finding for each dataset with failed checks and each recalled version.

    The key identifies the incident: a message is sent once per key. All datasets are searched, so
    `_changed` is unused.
    """
    for name in deadline.watched(set(state.identity)):
        if rule.matches_dataset(state.identity.names(name)):
            yield from _failed(state, name)
            yield from _recalled(state, name)


def _failed(state: State, name: DatasetName) -> Iterator[tuple[str, Finding]]:
    """Yield the failed checks of a dataset as one finding, or nothing if none fails now."""
    failures = current_failures(state, checks_of(state, name))
    pairs = [(name, failure) for failure in failures]
    try:
        subject = subject_of_checks(state, Node.of_dataset(name), pairs)
    except NotFoundError:  # no check fails, or what it checked is unknown
        return
    found = _finding(state, name, subject)
    run = failures[0].check.run
    found["runId"] = run.key.run_id if run else None
    found["at"] = shown_time(failures[0].check.time)
    yield f"{subject.id} {' '.join(bad.version.version for bad in subject.bad)}", found


def _recalled(state: State, name: DatasetName) -> Iterator[tuple[str, Finding]]:
    """Yield a finding for each recalled version of a dataset."""
    for taint in taints_of(state, name):
        subject = subject_of_version(version_of(state, name, taint.version))
        found = _finding(state, name, subject)
        found["message"] += f"\nRecalled: {taint.reason}"
        found["at"] = shown_time(taint.at)
        yield f"{subject.id} recalled {taint.at}", found


def _finding(state: State, name: DatasetName, subject: Subject) -> Finding:
    """Return the finding: the message to the owners, and the commands as its remedy."""
    generations, versions = generations_of(state), [bad.version for bad in subject.bad]
    spread = spread_of(generations, *versions)
    readers = sum(len(readers_of(generations, version).found) for version in versions)
    commands = [
        rerun["command"] or rerun["job"]["name"]
        for rerun in reruns(generations, writes_to_repeat(generations, versions, spread))
    ]
    return finding(
        "quality",  # a muted failed check sends no message
        name,
        f"has an incident: {message_of(state, subject, spread, readers)}",
        f"run again: {'; '.join(commands) or 'the command is unknown'}",
    )
