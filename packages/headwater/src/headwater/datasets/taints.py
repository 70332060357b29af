"""Taints: versions of datasets that a user recalled, so that no gate accepts their data.

A taint is a facet of an OpenLineage DatasetEvent, one for each version. It is therefore a part of
the log: it is kept when old runs are deleted, and a past state has the taints of its time. A
*stamp* is (event time, event hash): the newest statement about a version wins.
"""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from headwater import deadline
from headwater.events import Json
from headwater.identity import DatasetName
from headwater.projection import State
from headwater.projection.derived import records_of
from headwater.projection.facet_books import Stamp, unpack

_PREFIX = "headwater_taint_"


class Taint(NamedTuple):
    """A recalled version."""

    version: str
    reason: str
    at: int
    """When it was recalled, in microseconds."""


def taints_of(state: State, name: DatasetName) -> list[Taint]:
    """Return the recalled versions of a dataset, under any of its aliases, newest first."""
    found = [
        Taint(str(facet["version"]), str(facet.get("reason") or ""), stamp.time)
        for stamp, facet in _statements(state, name).values()
        if facet.get("isTainted") is True and "version" in facet
    ]
    return sorted(found, key=lambda taint: (-taint.at, taint.version))


def tainted_datasets(state: State) -> list[DatasetName]:
    """Return the datasets with a recalled version."""
    names = {
        state.identity.primary(record.name)
        for record in deadline.watched(state.datasets.values())
        if any(str(key).startswith(_PREFIX) for key in record.facets[::3])
    }
    return sorted(name for name in names if taints_of(state, name))


def facet_of(version: str) -> str:
    """Return the name of the facet that states whether a version is recalled."""
    return _PREFIX + sha256(version.encode()).hexdigest()[:16]


def stated_at(state: State, name: DatasetName, version: str) -> int:
    """Return when a version was last recalled or cleared, in microseconds; 0 if never."""
    statement = _statements(state, name).get(facet_of(version))
    return statement[0].time if statement else 0


def _statements(state: State, name: DatasetName) -> dict[str, tuple[Stamp, Json]]:
    """Return the newest statement about each version, by the name of its facet."""
    newest: dict[str, tuple[Stamp, bytes]] = {}
    for record in records_of(state, name):
        for key, stamped in record.facets.stamped().items():
            if key.startswith(_PREFIX) and (key not in newest or stamped[0] > newest[key][0]):
                newest[key] = stamped
    return {key: (stamp, unpack(packed)) for key, (stamp, packed) in newest.items()}
