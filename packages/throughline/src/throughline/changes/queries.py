"""Queries of changes over time."""

from __future__ import annotations

from typing import Annotated

from throughline.changes._diff import diff_answer
from throughline.changes._history import history_answer, place_of_entry
from throughline.changes._timeline import timeline_answer
from throughline.datasets.models import SchemaChange
from throughline.datasets.schemas import drift
from throughline.graph.nodes import find_dataset
from throughline.projection import State
from throughline.query.models import Page
from throughline.query.pages import cut, paged
from throughline.query.parameters import Cursor, Limit
from throughline.query.registry import Times, query

__all__ = ["diff_answer", "drift_answer", "history_answer", "timeline_answer"]


@query("drift", Times.THEN)
def drift_answer(
    state: State,
    node: Annotated[str | None, "A dataset; by default all."] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Page[SchemaChange]:
    """Return the schema changes of one dataset or of all, newest first, with their runs."""
    names = list(state.identity) if node is None else [find_dataset(state, node).dataset_name]
    changes = (change for name in names for change in drift(state, name))
    about = ("drift", node)
    return paged(*cut(about, changes, place_of_entry, limit, cursor, newest_first=True))
