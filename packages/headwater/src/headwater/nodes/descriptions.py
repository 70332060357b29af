"""Inherited descriptions of columns.

A column without a description inherits that of the upstream columns whose values it passes on, if
every edge on the way is an IDENTITY without masking and all these columns have the same text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headwater import deadline
from headwater.events.facets import SchemaField
from headwater.graph.column_graph import Column, ColumnEdge, ColumnGraph
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node, fields_of, name_of
from headwater.identity import DatasetName
from headwater.nodes.models import InheritedDescription

_UNCHANGED = "IDENTITY"


def inherited_descriptions(
    generations: Generations, name: DatasetName, fields: Iterable[str]
) -> dict[str, InheritedDescription]:
    """Return the inherited descriptions of fields without one, by field."""
    inherited = _Inherited(generations)
    found = ((field, inherited.of(Column(name, field))) for field in fields)
    return {field: description for field, description in found if description}


class _Inherited:
    def __init__(self, generations: Generations) -> None:
        self._state = generations.state
        self._graph = ColumnGraph.present(generations)
        self._fields: dict[DatasetName, dict[str, SchemaField]] = {}

    def of(self, column: Column) -> InheritedDescription | None:
        described: dict[Column, str] = {}
        seen, open_ = {column}, [column]
        for nearest in deadline.popped(open_):
            sources = self._unchanged_sources(nearest)
            if not sources:
                return None
            for source in sources:
                if text := self._description(source):
                    described[source] = text
                elif source not in seen:
                    seen.add(source)
                    open_.append(source)
        if len(set(described.values())) != 1:
            return None
        nearest, text = min(described.items())
        return {"text": text, "column": {**name_of(nearest.dataset), "field": nearest.field}}

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
    labels = {kind.label for kind in edge.transformations if kind.is_direct}
    return labels == {_UNCHANGED} and not edge.is_masked
