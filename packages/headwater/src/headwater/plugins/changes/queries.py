"""Queries of changes over time."""

from __future__ import annotations

from typing import Annotated

from headwater.datasets.models import SchemaChange
from headwater.datasets.schemas import drift
from headwater.lookup import find_dataset
from headwater.plugins.changes._diff import diff_answer
from headwater.plugins.changes._drifting import drifting_datasets
from headwater.plugins.changes._history import history_answer, place_of_entry
from headwater.plugins.changes._timeline import timeline_answer
from headwater.projection import State
from headwater.query.models import Page
from headwater.query.pages import cut, paged
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import Times, query

__all__ = ["diff_answer", "drift_answer", "history_answer", "timeline_answer"]


@query("drift", Times.THEN)
def drift_answer(
    state: State,
    node: Annotated[str | None, "A dataset; by default all."] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Page[SchemaChange]:
    """Return the schema changes of one dataset or of all, newest first, with their runs."""
    names = drifting_datasets(state) if node is None else {find_dataset(state, node).dataset_name}
    changes = (change for name in names for change in drift(state, name))
    about = ("drift", node)
    return paged(*cut(about, changes, place_of_entry, limit, cursor, newest_first=True))
