"""Inherited descriptions of columns, and owners of datasets.

A column without a description inherits that of the upstream columns whose values it passes on, if
every edge on the way is an IDENTITY without masking and all these columns have the same text. In
the same way, a dataset inherits owners if all of its columns are passed on from datasets of these
owners.

The columns and edges are those of the present generations (graph/present.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from headwater import deadline
from headwater.events.facets import SchemaField
from headwater.graph.column_graph import Column, ColumnEdge, ColumnGraph
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node, fields_of, name_of, node_ref
from headwater.identity import DatasetName
from headwater.node_facets import owners_of
from headwater.nodes.models import InferredOwners, InheritedDescription

Value = TypeVar("Value")

_UNCHANGED = "IDENTITY"


def inherited_descriptions(
    generations: Generations, name: DatasetName, fields: Iterable[str]
) -> dict[str, InheritedDescription]:
    """Return the inherited descriptions of fields without one, by field."""
    inherited = _Inherited(generations)
    found = ((field, inherited.description_of(Column(name, field))) for field in fields)
    return {field: description for field, description in found if description}


def inherited_owners(
    generations: Generations, name: DatasetName, fields: Iterable[str]
) -> InferredOwners | None:
    """Return the owners of the datasets whose columns a dataset passes on unchanged.

    All of its columns must come from datasets with these owners.

    None if a column has no known origin, or the origins have different owners.
    """
    inherited = _Inherited(generations)
    found = [inherited.nearest(Column(name, field), inherited.owners) for field in fields]
    every = {tuple(owners) for sources in found for owners in sources.values()}
    if not all(found) or len(every) != 1:
        return None
    nearest = min(column.dataset for sources in found for column in sources)
    return {"owners": [*every.pop()], "node": node_ref(Node.of_dataset(nearest))}


class _Inherited:
    """A walk upstream through columns whose values are passed on unchanged."""

    def __init__(self, generations: Generations) -> None:
        self._state = generations.state
        self._graph = ColumnGraph.present(generations)
        self._fields: dict[DatasetName, dict[str, SchemaField]] = {}

    def description_of(self, column: Column) -> InheritedDescription | None:
        described = self.nearest(column, self._description)
        if len(set(described.values())) != 1:
            return None
        nearest, text = min(described.items())
        return {"text": text, "column": {**name_of(nearest.dataset), "field": nearest.field}}

    def nearest(
        self, column: Column, value_of: Callable[[Column], Value | None]
    ) -> dict[Column, Value]:
        """Return the nearest columns with a value that a column passes on; empty if unknown.

        `value_of` returns a value of a column or dataset; None if it has none. The walk stops at
        columns with a value; the value of the column itself is not used. The result is empty if one
        path ends without a value, or changes the values of the column.
        """
        found: dict[Column, Value] = {}
        seen, open_ = {column}, [column]
        for nearest in deadline.popped(open_):
            sources = self._unchanged_sources(nearest)
            if not sources:
                return {}
            for source in sources:
                if value := value_of(source):
                    found[source] = value
                elif source not in seen:
                    seen.add(source)
                    open_.append(source)
        return found

    def owners(self, column: Column) -> list[str]:
        return owners_of(self._state, Node.of_dataset(column.dataset))

    def _unchanged_sources(self, column: Column) -> Collection[Column]:
        """Return the columns whose values a column has; none if some are changed or unknown."""
        edges = [e for e in self._graph.inputs(column, indirect=False) if not e.is_failed]
        return {edge.source for edge in edges} if all(map(_is_unchanged, edges)) else ()

    def _description(self, column: Column) -> str | None:
        if column.dataset not in self._fields:
            self._fields[column.dataset] = fields_of(self._state, Node.of_dataset(column.dataset))
        field = self._fields[column.dataset].get(column.field)
        return field.description if field else None


def _is_unchanged(edge: ColumnEdge) -> bool:
    """Return True if all direct transformations of an edge are IDENTITY, without masking."""
    labels = {kind.label for kind in edge.transformations if kind.is_direct}
    return labels == {_UNCHANGED} and not edge.is_masked
