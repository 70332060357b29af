"""The columns that have a tag, inherit it or mask it, by dataset and with their path.

WHOLE is the column that stands for a whole dataset: one without reported columns, or with a tag of
its own. A column feeds another one that takes its values; the use can mask them.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from enum import IntEnum
from typing import Annotated, Literal, NamedTuple

from headwater import deadline
from headwater.events.facets import Tag
from headwater.events.facets import Tags as ReportedTags
from headwater.filter_values import job_owners
from headwater.graph.column_graph import Column
from headwater.graph.current import generations_of, once_an_event, whole_graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, dataset_ref, facets_of, fields_of, name_of
from headwater.graph.walk import neighbors
from headwater.identity import DatasetName
from headwater.lineage.tags import WHOLE, Tags
from headwater.node_facets import owners_of
from headwater.projection import State
from headwater.query.models import Answer, DatasetRef, FieldRef
from headwater.query.pages import cut
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import Times, query

TagStatus = Literal["tagged", "derived", "possible", "masked"]
"""Origin of a column's tag: `tagged` if it was reported, for the column or its whole dataset;
`derived` if the column takes values from a tagged column; `possible` if the run that wrote the
dataset reported no column lineage and read tagged data; `masked` if all its tagged values passed
through a masking transformation, which only stops PII."""


class TaggedColumn(Answer):
    """A column with a tag."""

    field: str | None
    """Null for a whole dataset."""
    status: TagStatus
    path: list[FieldRef]
    """A shortest path of the tag: from the tagged column to this one, both included."""


class TaggedDataset(DatasetRef):
    """A dataset with the columns that have a tag."""

    owners: list[str]
    """Owners of the dataset. If it has none, the owners of the jobs that write it."""
    columns: list[TaggedColumn]


class TagCounts(Answer):
    """The number of columns, by status; a dataset without reported columns counts as one."""

    tagged: int
    derived: int
    possible: int
    masked: int


class TaggedAnswer(Answer):
    """One page of datasets with columns that have a tag, and the counts of all columns."""

    items: list[TaggedDataset]
    next: str | None
    total: int
    """Number of datasets with a column of the selected status."""
    counts: TagCounts
    """Columns of all datasets and statuses."""


class _Status(IntEnum):
    """The statuses, the strongest first.

    A column keeps the strongest status of all ways to it. Answers have the names.
    """

    TAGGED = 0
    DERIVED = 1
    POSSIBLE = 2
    MASKED = 3

    @property
    def text(self) -> TagStatus:
        """The status as answers have it."""
        return _TEXTS[self]


_TEXTS: tuple[TagStatus, ...] = ("tagged", "derived", "possible", "masked")


class _Found(NamedTuple):
    """The status of a column, and the column that it inherits the tag from; None if tagged.

    `distance` counts columns. Following `source` leads to the column with the reported tag.
    """

    status: _Status
    distance: int
    source: Column | None


_Columns = dict[DatasetName, dict[Column, _Found]]


@query("tagged", Times.THEN)
def tagged_answer(
    state: State,
    tag: Annotated[str, "A tag: KEY or KEY:VALUE (not case-sensitive)."],
    status: Annotated[TagStatus | None, "Only columns with this status."] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> TaggedAnswer:
    """Return the columns that are tagged with, inherit or mask a tag, by dataset, for an audit.

    Tags follow column lineage without its filters, joins and groupings; PII stops at masking.
    """
    cache, wanted = _cache(state), tag.strip().casefold()
    if wanted not in cache:
        cache[wanted] = _search(state, wanted)
    found, columns = cache[wanted]
    chosen = {
        name: kept
        for name, of in columns.items()
        if (kept := {c: f for c, f in of.items() if status in (None, f.status.text)})
    }
    counts = Counter(f.status.text for of in columns.values() for f in of.values())
    names, more = cut(("tagged", wanted, status), chosen, _place, limit, cursor)
    return {
        "items": [
            {
                **dataset_ref(name),
                "owners": owners_of(state, node := Node.of_dataset(name))
                or job_owners(state, node),
                "columns": [
                    {
                        "field": column.field or None,
                        "status": item.status.text,
                        "path": _path(found, column),
                    }
                    for column, item in sorted(chosen[name].items())
                ],
            }
            for name in names
        ],
        "next": more,
        "total": len(chosen),
        "counts": {
            "tagged": counts["tagged"],
            "derived": counts["derived"],
            "possible": counts["possible"],
            "masked": counts["masked"],
        },
    }


@once_an_event
def _cache(state: State) -> dict[str, tuple[dict[Column, _Found], _Columns]]:
    """Return the results of `_search` by tag, in lower case; empty after each event."""
    del state
    return {}


def _place(name: DatasetName) -> tuple[str, ...]:
    """Return the sort key of a dataset."""
    return name.name.casefold(), *name


def _path(found: dict[Column, _Found], column: Column) -> list[FieldRef]:
    """Return the path of a tag to a column, the tagged one first."""
    path: list[FieldRef] = []
    step: Column | None = column
    while step is not None:
        path.append({**name_of(step.dataset), "field": step.field or None})
        step = found[step].source
    return path[::-1]


def _has(tag: Tag, wanted: str) -> bool:
    """Return True if a tag has this label or key. The key `pii` does not match `pii:false`."""
    by_key = tag.key.casefold() == wanted and (wanted != "pii" or tag.is_pii)
    return by_key or tag.label.casefold() == wanted


def _search(state: State, wanted: str) -> tuple[dict[Column, _Found], _Columns]:
    """Return every column that a tag reaches, and the listed ones by dataset.

    `wanted` is the tag in lower case. The search visits the strongest status first, and the
    shortest path among equal ones, so the first visit of a column is final.
    """
    own = _tagged_columns(state, wanted)
    if not own:
        return {}, {}
    feeds = _feeds(state, own, _downstream(state, {column.dataset for column in own}))
    found: dict[Column, _Found] = {}
    heap: list[tuple[_Status, int, Column, Column | None, bool]] = [
        (_Status.TAGGED, 0, column, None, is_pii) for column, is_pii in sorted(own.items())
    ]
    while heap:
        deadline.check()
        status, distance, column, source, is_pii = heapq.heappop(heap)
        if column in found:
            continue
        found[column] = _Found(status, distance, source)
        for target, best in feeds[column] if status < _Status.MASKED else ():
            next_ = _passed_on(status, best, column, target, is_pii=is_pii)
            heapq.heappush(heap, (next_, distance + 1, target, column, is_pii))
    listed: _Columns = defaultdict(dict)
    for column, item in found.items():
        if _is_listed(state, column, item):
            listed[column.dataset][column] = item
    return found, dict(listed)


def _tagged_columns(state: State, wanted: str) -> dict[Column, bool]:
    """Return the columns and datasets with a reported tag, each with True if it marks PII."""
    own: dict[Column, bool] = {}
    for name in deadline.watched(state.identity):
        for book in facets_of(state, Node.of_dataset(name)):
            for tag in book.parsed(ReportedTags).tags:
                if _has(tag, wanted):
                    column = Column(name, tag.field or WHOLE)
                    own[column] = own.get(column, False) or tag.is_pii
    return own


def _passed_on(
    status: _Status, best: _Status, column: Column, target: Column, *, is_pii: bool
) -> _Status:
    """Return the status that a column gets from one of its inputs.

    `status` is that of the input `column`, and `best` the best one that its use allows. A column of
    a wholly tagged dataset keeps the status. Masking only stops PII.
    """
    if column == Column(target.dataset, WHOLE):
        return status
    is_unmasked = best is _Status.MASKED and not is_pii
    return max(status, _Status.DERIVED if is_unmasked else best)


def _is_listed(state: State, column: Column, item: _Found) -> bool:
    """Return False if the whole dataset is listed instead, or its columns instead of it."""
    if column.field == WHOLE:
        is_tagged = item.status is _Status.TAGGED
        return not (is_tagged and fields_of(state, Node.of_dataset(column.dataset)))
    is_of_whole = item.source == Column(column.dataset, WHOLE)
    return not is_of_whole or item.status is _Status.TAGGED


def _downstream(state: State, roots: set[DatasetName]) -> set[DatasetName]:
    """Return some datasets, and all datasets downstream of them."""
    graph = whole_graph_of(state, Level.TASK)
    open_ = [Node.of_dataset(name) for name in roots]
    seen = set(open_)
    while open_:
        for node in neighbors(graph, open_.pop(), "down"):
            if node not in seen:
                seen.add(node)
                open_.append(node)
    return {node.dataset_name for node in seen if node.type == "dataset"}


def _feeds(
    state: State, own: dict[Column, bool], names: set[DatasetName]
) -> dict[Column, list[tuple[Column, _Status]]]:
    """Return, by column, the columns that take its values, with the best status they can have.

    `own` are the columns with a reported tag, and `names` the datasets downstream of them.
    """
    generations = generations_of(state)
    tags = Tags(generations, generations.present.parts())
    feeds: dict[Column, list[tuple[Column, _Status]]] = defaultdict(list)
    seen: set[Column] = set()
    open_ = [*own, *(Column(name, field) for name in names for field in tags.fields_of(name))]
    open_ += [
        Column(column.dataset, field)
        for column in own
        if column.field == WHOLE
        for field in fields_of(state, Node.of_dataset(column.dataset))
    ]
    for column in deadline.popped(open_):
        if column in seen or column.dataset not in names:
            continue
        seen.add(column)
        for above, how in tags.inputs(column):
            feeds[above].append((column, _BEST[how]))
            open_.append(above)
    return feeds


_BEST = {
    "direct": _Status.DERIVED,
    "masked": _Status.MASKED,
    "unspecified": _Status.POSSIBLE,
}
