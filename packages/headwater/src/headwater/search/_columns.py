"""Columns that no schema lists, because only column lineage or a SQL text names them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headwater import deadline
from headwater.events.facets import Sql
from headwater.graph.current import once_an_event
from headwater.graph.sql_lineage import sql_lineage
from headwater.identity import DatasetName, canonical_name
from headwater.projection import State
from headwater.runs.summary import place_of_run


@once_an_event
def named_columns(state: State) -> dict[DatasetName, set[str]]:
    """Return the columns that column lineage or the newest SQL text of a job names, by dataset."""
    found: dict[DatasetName, set[str]] = defaultdict(set)
    for record in deadline.watched(state.datasets.values()):
        for link in record.facets.column_lineage().links:
            name = state.identity.primary(canonical_name(link.namespace, link.name))
            found[name].add(link.field)
    for name, column in _in_texts(state):
        found[name].add(column)
    return found


def _in_texts(state: State) -> Iterator[tuple[DatasetName, str]]:
    for job in deadline.watched(state.jobs.values()):
        runs = (state.runs[key] for key in job.runs) if job.facets.get(Sql.KEY) else ()
        newest = max(runs, key=lambda run: place_of_run(state, run), default=None)
        text = sql_lineage(state, newest) if newest is not None else None
        if text is not None:
            yield from text.used
            for target, lineage in text.columns.items():
                yield from ((target, column) for column in lineage.columns)
