"""Queries that find and describe nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from throughline import deadline
from throughline.errors import ConfigError
from throughline.graph.current import generations_of, graph_of
from throughline.graph.edges import LevelGraph
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, find_node, kind_of, node_ref
from throughline.projection import State
from throughline.query.pages import cut
from throughline.query.parameters import Cursor, Limit, Name
from throughline.query.registry import Times, query
from throughline.runs.summary import place_of_run, run_line
from throughline.search._search import counts_of, search, search_hit
from throughline.search.models import NewestAnswer, NewestDataset, NodeAnswer, SearchAnswer
from throughline.search.summary import node_in_full


@query("node", Times.THEN)
def node_answer(state: State, node: Name) -> NodeAnswer:
    """Return a node with everything that was last reported about it."""
    return node_in_full(generations_of(state), find_node(state, node))


@query("search")
def search_answer(
    state: State,
    text: Annotated[str, "Text to search for; part of a word is enough."],
    limit: Limit = 20,
    cursor: Cursor = None,
) -> SearchAnswer:
    """Search names, columns, tags, owners, descriptions and queries of all nodes.

    `counts` has the number of all results by what matched.
    """
    if not (text := text.strip()):
        raise ConfigError("text: missing value; expected a non-empty string")
    hits = search(state, text)
    found, more = cut(("search", text), hits, lambda hit: hit.place, limit, cursor)
    levels = generations_of(state).levels
    items = [search_hit(state, levels, hit) for hit in found]
    return {"items": items, "next": more, "counts": counts_of(hits)}


@query("newest")
def newest_answer(state: State, limit: Limit = 10) -> NewestAnswer:
    """Return the tables and models written last, with the end of the run that wrote them."""
    return {"items": list(islice(_newest(state, graph_of(state, Level.TASK)), limit))}


def _newest(state: State, graph: LevelGraph) -> Iterator[NewestDataset]:
    jobs = sorted(graph.runs, key=lambda ref: place_of_run(state, graph.runs[ref]), reverse=True)
    seen: set[Node] = set()
    for ref in deadline.watched(jobs):
        ended = run_line(state, graph.runs[ref])["endedAt"]
        for node in map(Node.of_dataset, sorted(graph.edges_of(ref).writes)):
            kind = kind_of(state, node)
            if kind in ("table", "model") and node not in seen:
                seen.add(node)
                yield {**node_ref(node), "kind": kind, "writtenAt": ended}
