"""Queries of tags."""

from __future__ import annotations

from typing import Annotated

from headwater import deadline
from headwater.graph.current import generations_of
from headwater.lineage.provenance import origin
from headwater.lineage.tags import ColumnTag, Tags, dataset_tag
from headwater.lookup import find_dataset
from headwater.plugins.tags._tagged import tagged_answer
from headwater.projection import State
from headwater.query.models import Answer, DatasetTag
from headwater.query.pages import cut
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import Times, query

__all__ = ["tagged_answer", "tags_answer"]


class TagsAnswer(Answer):
    """One page of tags, and the number of all matching ones."""

    items: list[DatasetTag]
    next: str | None
    """Cursor of the next page; null on the last one."""
    total: int


@query("tags", Times.THEN)
def tags_answer(
    state: State,
    node: Annotated[str | None, "A dataset; by default all."] = None,
    key: Annotated[str | None, "Only tags with this key (not case-sensitive)."] = None,
    limit: Limit = 1_000,
    cursor: Cursor = None,
) -> TagsAnswer:
    """Return the tags of datasets and columns, including those inherited through column lineage."""
    generations = generations_of(state)
    if node is None:
        names, tags = set(state.identity), Tags(generations, generations.present.parts())
    else:
        found = find_dataset(state, node)
        names, tags = {found.dataset_name}, Tags(generations, origin(generations, found))
    wanted = None if key is None else key.lower()
    column_tags = (column_tag for name in names for column_tag in tags.of(name))
    matching = [
        column_tag
        for column_tag in deadline.watched(column_tags)
        if wanted in (None, column_tag.tag.key.lower())
    ]
    chosen, more = cut(("tags", node, wanted), matching, ColumnTag.place, limit, cursor)
    items = [dataset_tag(column_tag) for column_tag in chosen]
    return {"items": items, "next": more, "total": len(matching)}
