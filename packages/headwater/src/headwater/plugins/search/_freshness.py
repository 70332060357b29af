"""Freshness of datasets: the last write, the next due time, and failures that put it at risk.

A rhythm (`health.freshness`) is the usual interval of the writes with the next due time. A row has
the values of a dataset for lists and filters; to determine them takes time in a large store.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import repeat
from typing import Annotated, Literal, NamedTuple, Unpack

from headwater import deadline
from headwater.events import shown_time
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node, node_ref
from headwater.health.blocked import risks_of
from headwater.health.freshness import Rhythm
from headwater.health.rules import lateness_of
from headwater.health.states import state_of
from headwater.nodes.listed import rows_of, values_with_state
from headwater.nodes.rows import place_by_activity, place_by_name
from headwater.plugins.search._index import unindexed
from headwater.plugins.search.listing import (
    InState,
    datasets_named,
    listed_dataset,
)
from headwater.plugins.search.models import DatasetFreshness, FreshnessAnswer, FreshnessCounts
from headwater.plugins.search.selection import names_columns
from headwater.projection import State
from headwater.query.filters import choose, wanted_values
from headwater.query.models import Facets
from headwater.query.pages import Place, cut
from headwater.query.parameters import Cursor, Filters, Limit

_SECONDS, _LEAST = 0.7, 500
"""Seconds after which a partial list is returned, and the rows that are determined in any case."""
_DAY = 86_400_000_000  # microseconds
Part = Literal["scheduled", "unscheduled", "sources", "late", "day", "risk"]
Sort = Literal["due", "name", "written"]


class _Timed(NamedTuple):
    """A dataset with the interval of its writes.

    `rhythm` is None without evidence of a schedule, and for a source: a dataset without writers.
    """

    node: Node
    rhythm: Rhythm | None
    is_source: bool

    @property
    def due(self) -> int | None:
        """The due time in microseconds."""
        return self.rhythm.due if self.rhythm else None

    def is_due(self, until: int) -> bool:
        """Return True if it is due by a time (microseconds) and has not stopped."""
        return self.due is not None and self.due <= until and not self.is_stopped(until - _DAY)

    def is_stopped(self, now: int) -> bool:
        """Return True if it seems to be switched off; `now` is in microseconds."""
        return self.rhythm is not None and self.rhythm.is_stopped(now)


def datasets_freshness_answer(
    state: State,
    text: Annotated[str | None, "Only datasets with this text in a name."] = None,
    due: Annotated[
        Part,
        "Only datasets with a schedule, without one, or that no job writes (sources); late ones;"
        " those overdue or due within 24 hours; or those of these at risk from failures upstream.",
    ] = "scheduled",
    sort: Annotated[Sort, "By due time, by name, or last written first."] = "due",
    limit: Limit = 50,
    cursor: Cursor = None,
    *,
    reverse: Annotated[bool, "In the opposite order."] = False,
    state_: InState = None,
    **filters: Unpack[Filters],
) -> FreshnessAnswer:
    """Return the last write, the usual interval and the next due time of datasets.

    `counts` has the number of results by part, before the filter `due`.
    """
    timed, uncounted = _all_timed(state, datasets_named(state, text))
    wanted = wanted_values(filters, state_)

    def filtered(items: list[_Timed]) -> tuple[list[_Timed], Facets]:
        return choose(items, lambda item: values_with_state(state, item.node), wanted)

    chosen, facets = filtered(_parts(state, timed)[due])
    parts = _parts(state, filtered(timed)[0] if wanted else timed)
    about = ("freshness/datasets", text, due, sort, *wanted.items(), reverse)
    place = partial(_place, state, sort)
    newest_first = (sort == "written") is not reverse
    found, following = cut(about, chosen, place, limit, cursor, newest_first=newest_first)
    return {
        "items": [_freshness(state, item) for item in found],
        "next": following,
        "total": len(chosen),
        "facets": facets,
        "counts": _counts(parts),
        "uncounted": max(uncounted, unindexed(state) if names_columns(text) else 0),
    }


def _all_timed(state: State, nodes: Iterable[Node]) -> tuple[list[_Timed], int]:
    """Return the datasets whose rows are known or can be determined in time; count the others."""
    rows, found, uncounted = rows_of(state), list[_Timed](), 0
    time = deadline.within(_SECONDS, repeat(True), least=_LEAST)
    for node in deadline.watched(nodes):
        if not rows.has(node):
            if not next(time, False):
                uncounted += 1
                continue
            rows.of(node)
        found.append(_timed(state, node))
    return found, uncounted


def _timed(state: State, node: Node) -> _Timed:
    """Return a dataset with the interval of its writes."""
    is_source = not generations_of(state).writers(node.dataset_name)
    return _Timed(node, None if is_source else lateness_of(state, node), is_source)


def _parts(state: State, items: list[_Timed]) -> dict[Part, list[_Timed]]:
    """Return the datasets of each value of the parameter `due`; a dataset may be in several."""
    day = [item for item in items if item.is_due(state.now + _DAY)]
    return {
        "scheduled": [item for item in items if item.rhythm],
        "unscheduled": [item for item in items if not item.rhythm and not item.is_source],
        "sources": [item for item in items if item.is_source],
        "late": [item for item in items if item.rhythm and state_of(state, item.node) == "late"],
        "day": day,
        "risk": [item for item in day if risks_of(state, item.node)],
    }


def _counts(parts: dict[Part, list[_Timed]]) -> FreshnessCounts:
    """Return the number of datasets of each part."""
    return {
        "scheduled": len(parts["scheduled"]),
        "unscheduled": len(parts["unscheduled"]),
        "sources": len(parts["sources"]),
        "late": len(parts["late"]),
        "day": len(parts["day"]),
        "risk": len(parts["risk"]),
    }


def _place(state: State, sort: Sort, item: _Timed) -> Place:
    """Return the sort key of a dataset. By due time, those without one or stopped come last."""
    if sort == "written":
        return place_by_activity(state, item.node)
    by_name = place_by_name(state, item.node)
    if sort == "name":
        return by_name
    return int(item.due is None or item.is_stopped(state.now)), item.due or 0, *by_name


def _freshness(state: State, item: _Timed) -> DatasetFreshness:
    """Return a dataset as part of the answer."""
    is_overdue = item.is_due(state.now) and not item.is_stopped(state.now)
    return {
        **listed_dataset(state, item.node),
        "everySeconds": item.rhythm.every // 1_000_000 if item.rhythm else None,
        "dueAt": shown_time(item.due),
        "isOverdue": is_overdue,
        "isSource": item.is_source,
        "risks": list(map(node_ref, risks_of(state, item.node))),
    }
