"""Queries that find and list nodes.

- row: a node with its sort key and the values by which lists are filtered (`nodes.listed`)
- uncounted: said of a node whose values are not determined yet, after the start with a large store
- facets: the values to filter by, with the number of nodes that have each
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Literal, Unpack

from headwater import deadline
from headwater.datasets.removal import removal_of
from headwater.errors import ConfigError
from headwater.graph.current import whole_graph_of
from headwater.graph.edges import LevelGraph
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_ref
from headwater.node_facets import kind_of
from headwater.nodes.listed import (
    Chosen,
    by_activity,
    by_name,
    choose_rows,
    values_with_state,
)
from headwater.nodes.rows import place_by_name
from headwater.plugins.search import models
from headwater.plugins.search._freshness import datasets_freshness_answer
from headwater.plugins.search._index import unindexed, unread_texts
from headwater.plugins.search._search import Hit, counts_of, hits_in, search, search_hit
from headwater.plugins.search.listing import (
    Grouping,
    InState,
    datasets_named,
    groups_of,
    jobs_named,
    listed_dataset,
    listed_job,
)
from headwater.plugins.search.selection import names_columns, parse
from headwater.projection import State
from headwater.query.filters import choose, wanted_values
from headwater.query.models import Facets, Item, PartialPage
from headwater.query.pages import Place, cut
from headwater.query.parameters import Cursor, Filters, Limit, WithFacets
from headwater.query.registry import Times, query
from headwater.runs.summary import place_of_run, run_line

MatchedKind = Literal[
    "name", "column", "tag", "owner", "description", "sql", "error", "run", "version"
]
_SELECTION = "words joined by AND, column: tag: owner: state: platform: type: namespace:, +NAME+2"


@query("search", Times.THEN, searches_sql=True)
def search_answer(
    state: State,
    text: Annotated[str, f"Text to search for; part of a word is enough. Or {_SELECTION}."],
    limit: Limit = 20,
    cursor: Cursor = None,
    *,
    matched: Annotated[MatchedKind | None, "Only nodes whose best match is of this kind."] = None,
    facets: WithFacets = False,
    may_read_sql: bool = True,
    state_: InState = None,
    **filters: Unpack[Filters],
) -> models.SearchAnswer:
    """Search names, columns, tags, owners, descriptions and queries of all nodes.

    `counts` has the number of results by what matched, before the filter `matched`.
    """
    if not (text := text.strip()):
        raise ConfigError("text: missing value; expected a non-empty string")
    wanted = wanted_values(filters, state_)

    def filtered(hits: list[Hit]) -> tuple[list[Hit], Facets]:
        return choose(hits, lambda hit: values_with_state(state, hit.node), wanted)

    hits = search(state, text, with_sql=may_read_sql)
    matching = filtered(hits)[0] if wanted else hits
    chosen = hits_in(matching, matched)
    about = ("search", text, matched, *wanted.items())
    found, more = cut(about, chosen, lambda hit: hit.place, limit, cursor)
    return {
        "items": [search_hit(state, hit) for hit in found],
        "next": more,
        "total": len(chosen) if facets else None,
        "facets": filtered(hits_in(hits, matched))[1] if facets else None,
        "counts": counts_of(matching),
        "unreadTexts": unread_texts(state),
        "uncounted": unindexed(state, is_similar=not hits and parse(state, text).is_plain),
    }


@query("datasets")
def datasets_answer(
    state: State,
    text: Annotated[str | None, f"Only datasets with this text in a name; or {_SELECTION}."] = None,
    sort: Annotated[Literal["name", "written"], "By name, or last written first."] = "name",
    limit: Limit = 50,
    cursor: Cursor = None,
    *,
    reverse: Annotated[bool, "In the opposite order."] = False,
    state_: InState = None,
    **filters: Unpack[Filters],
) -> models.ListPage[models.ListedDataset]:
    """Return datasets, their number, and the counts of their filter values."""
    wanted = wanted_values(filters, state_)
    named = datasets_named(state, text) if text else None
    chosen = choose_rows(state, "dataset", named, wanted, in_part=True)
    about = ("datasets", text, *wanted.items(), sort, reverse)
    rows = _listed_rows(state, chosen, sort, is_filtered=bool(wanted))
    found, more = _sorted_page(about, rows, sort, reverse, limit, cursor)
    items = [listed_dataset(state, node) for node in found]
    unsearched = unindexed(state) if names_columns(text) else 0
    return _list_page(items, more, chosen, unsearched, is_filtered=bool(wanted))


@query("jobs")
def jobs_answer(
    state: State,
    text: Annotated[str | None, f"Only jobs with this text in their name; or {_SELECTION}."] = None,
    condition: Annotated[
        str | None, "Only jobs whose newest run is in this state; empty: only jobs without runs."
    ] = None,
    sort: Annotated[Literal["name", "started"], "By name, or last started first."] = "name",
    limit: Limit = 50,
    cursor: Cursor = None,
    *,
    reverse: Annotated[bool, "In the opposite order."] = False,
    state_: InState = None,
    **filters: Unpack[Filters],
) -> models.ListPage[models.ListedJob]:
    """Return jobs with their newest run, their number, and the counts of their filter values."""
    wanted = wanted_values(filters, state_)
    is_part = text or condition is not None
    named = jobs_named(state, text, condition) if is_part else None
    chosen = choose_rows(state, "job", named, wanted, in_part=True)
    about = ("jobs", text, condition, *wanted.items(), sort, reverse)
    rows = _listed_rows(state, chosen, sort, is_filtered=bool(wanted))
    found, more = _sorted_page(about, rows, sort, reverse, limit, cursor)
    items = [listed_job(state, node) for node in found]
    unsearched = unindexed(state) if names_columns(text) else 0
    return _list_page(items, more, chosen, unsearched, is_filtered=bool(wanted))


@query("groups")
def groups_answer(
    state: State,
    by: Annotated[Grouping, "List owners or tags."] = "owner",
    text: Annotated[str | None, "Only those with this text in their name."] = None,
    sort: Annotated[
        Literal["name", "datasets", "jobs"], "By name, or most datasets or jobs first."
    ] = "name",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    reverse: Annotated[bool, "In the opposite order."] = False,
) -> PartialPage[models.NodeGroup]:
    """Return all owners or all reported tags, with the number of datasets and jobs of each.

    A dataset without owners has the owners of the jobs that write it.
    """

    def place(group: models.NodeGroup) -> Place:
        count = {"name": 0, "datasets": group["datasets"], "jobs": group["jobs"]}[sort]
        return count, group["value"].casefold(), group["value"]

    groups, uncounted = groups_of(state, by, text)
    newest_first = (sort != "name") is not reverse
    about = ("groups", by, text, sort, reverse)
    items, more = cut(about, groups, place, limit, cursor, newest_first=newest_first)
    return {"items": items, "next": more, "uncounted": uncounted}


def _listed_rows(
    state: State, chosen: Chosen, sort: str, *, is_filtered: bool
) -> list[tuple[Node, Place]]:
    """Return the rows to list; in an unfiltered list by name also those of uncounted nodes."""
    if is_filtered or sort != "name":
        return chosen.rows
    return [*chosen.rows, *((node, place_by_name(state, node)) for node in chosen.uncounted)]


def _list_page(
    items: list[Item], more: str | None, chosen: Chosen, unsearched: int, *, is_filtered: bool
) -> models.ListPage[Item]:
    """Return a page; the total of an unfiltered list is known before its nodes are counted.

    `unsearched` is the number of nodes whose columns were not searched.

    `items` are the nodes of this page, and `chosen` all nodes of the list.
    """
    uncounted = len(chosen.uncounted)
    total = len(chosen.rows) + (0 if is_filtered else uncounted)
    return {
        "items": items,
        "next": more,
        "total": total,
        "facets": chosen.facets,
        "uncounted": max(uncounted, unsearched),
    }


def _sorted_page(
    about: tuple[object, ...], rows: list[tuple[Node, Place]], sort: str, reverse: bool,
    limit: int, cursor: str | None,
) -> tuple[list[Node], str | None]:  # fmt: skip
    """Return a page of nodes, by name or the most recently active first.

    `about` is the query with its parameters. The second value is the cursor of the next page.
    """
    place = by_name if sort == "name" else by_activity
    newest_first = (sort != "name") is not reverse
    found, more = cut(about, rows, place, limit, cursor, newest_first=newest_first)
    return [node for node, _ in found], more


@query("newest")
def newest_answer(state: State, limit: Limit = 10) -> models.NewestAnswer:
    """Return the tables, views and models written last, with the end of the run that wrote them.

    Datasets that were dropped or renamed since are not listed.
    """
    return {"items": list(islice(_newest(state, whole_graph_of(state, Level.TASK)), limit))}


def _newest(state: State, graph: LevelGraph) -> Iterator[models.NewestDataset]:
    """Yield tables, views and models that exist, those written by the newest runs first."""
    jobs = sorted(graph.runs, key=lambda ref: place_of_run(state, graph.runs[ref]), reverse=True)
    seen: set[Node] = set()
    for ref in deadline.watched(jobs):
        ended = run_line(state, graph.runs[ref])["endedAt"]
        for node in map(Node.of_dataset, sorted(graph.edges_of(ref).writes)):
            kind = kind_of(state, node)
            if kind not in ("table", "view", "model") or node in seen:
                continue
            seen.add(node)
            removal = removal_of(state, node.dataset_name)
            if removal is None or removal["kind"] == "emptied":
                yield {**node_ref(node), "kind": kind, "writtenAt": ended, "removal": removal}


query("freshness/datasets", Times.THEN)(datasets_freshness_answer)
