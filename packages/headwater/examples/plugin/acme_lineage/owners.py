"""A finding about tables without an owner."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.filter_values import values_of
from headwater.graph.nodes import Node
from headwater.health.findings import warning
from headwater.health.models import Finding
from headwater.projection import State
from headwater.query.filters import NO_VALUE


def tables_without_owner(state: State) -> Iterator[Finding]:
    """Yield a warning for each table of the warehouse that has no owner."""
    for name in state.identity:
        values = values_of(state, Node.of_dataset(name))
        if name.namespace.startswith("postgres:") and values["owner"] == (NO_VALUE,):
            remedy = "add an owner in the table's documentation"
            yield warning("quality", name, "has no owner", remedy)
