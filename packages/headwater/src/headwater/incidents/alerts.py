"""The alert rule `incident`: one message about a failed check, to all whose data it affects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from headwater import deadline
from headwater.datasets.quality import checks_of, current_failures
from headwater.errors import NotFoundError
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node
from headwater.health.findings import finding
from headwater.health.models import Finding
from headwater.identity import DatasetName
from headwater.incidents._incident import message_of, writes_to_repeat
from headwater.incidents._readers import readers_of
from headwater.incidents._rerun import reruns
from headwater.incidents._subject import subject_of_checks
from headwater.incidents._version import spread_of
from headwater.projection import State


class _Rule(Protocol):
    """A rule of the alerts file."""

    def matches_dataset(self, names: Iterable[DatasetName]) -> bool: ...


def find_incidents(state: State, rule: _Rule, _changed: object) -> Iterator[tuple[str, Finding]]:
    """Yield each dataset whose checks fail now, with the owners to tell and what to run again."""
    generations = generations_of(state)
    for name in deadline.watched(set(state.identity)):
        if not rule.matches_dataset(state.identity.names(name)):
            continue
        failures = current_failures(state, checks_of(state, name))
        node = Node.of_dataset(name)
        try:
            subject = subject_of_checks(state, node, [(name, failure) for failure in failures])
        except NotFoundError:  # no check fails, or what it checked is unknown
            continue
        versions = [bad.version for bad in subject.bad]
        spread = spread_of(generations, *versions)
        readers = sum(len(readers_of(generations, version).found) for version in versions)
        message = message_of(state, subject, spread, readers)
        commands = [
            rerun["command"] or rerun["job"]["name"]
            for rerun in reruns(generations, writes_to_repeat(generations, versions, spread))
        ]
        found = finding(
            "quality",  # a muted failed check sends no message
            node,
            f"has an incident: {message}",
            f"run again: {'; '.join(commands) or 'the command is unknown'}",
            run=failures[0].check.run,
            at=failures[0].check.time,
        )
        yield f"{subject.id} {' '.join(version.version for version in versions)}", found
