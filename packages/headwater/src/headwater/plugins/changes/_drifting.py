"""The datasets whose schema ever changed, kept from query to query and updated after events.

The revision of a state counts its events. Its shape changes if an event may concern any node, such
as one that removes an alias: then all datasets are checked again.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater import deadline
from headwater.datasets.schemas import drift
from headwater.events.facets import Schema
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.kept import LastUpdate, exists, kept
from headwater.projection import State
from headwater.projection.derived import records_of
from headwater.projection.facet_books import pack


def drifting_datasets(state: State) -> set[DatasetName]:
    """Return the datasets with schema changes. If a deadline ends it, the next call continues."""
    drifting = kept(state, _Drifting)
    drifting.update()
    return drifting.names


class _Drifting:
    """The datasets with schema changes, as of the last update."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._last = LastUpdate(state)
        self._unchecked: dict[DatasetName, None] = {}
        self.names: set[DatasetName] = set()

    def update(self) -> None:
        """Check the datasets that are new or that events concern."""
        state = self._state
        if self._last.is_needed:
            touched = self._last.touched()
            if touched is None:
                self.names.clear()
                names = set(state.identity)
            else:
                names = {node.dataset_name for node in touched if node.type == "dataset"}
            self._unchecked |= dict.fromkeys(names)
            self._last.finish()
        for name in deadline.watched(list(self._unchecked)):
            self.names.discard(name)
            is_dataset = exists(state, Node.of_dataset(name))
            if is_dataset and _has_several_schemas(state, name) and drift(state, name):
                self.names.add(name)
            del self._unchecked[name]


def _has_several_schemas(state: State, name: DatasetName) -> bool:
    """Return False if all reports of a dataset have the same schema facet, as for nearly all."""
    first: bytes | None = None
    for schema in _packed_schemas(state, name):
        if first is not None and schema != first:
            return True
        first = schema
    return False


def _packed_schemas(state: State, name: DatasetName) -> Iterator[bytes]:
    """Yield the packed schema facet of each report of a dataset that has one."""
    key, runs = Schema.KEY, state.runs
    for record in records_of(state, name):
        for facets in (record.facets_without_run or {}).values():
            if facet := facets.get(key):
                yield pack(facet)
        for run in record.writers:
            book = runs[run].outputs[record.name].dataset_facets
            if key in book:
                yield book.packed(key)
        for run in record.readers:
            book = runs[run].inputs[record.name].dataset_facets
            if key in book:
                yield book.packed(key)
