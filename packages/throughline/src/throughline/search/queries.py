"""Queries that find and describe nodes."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from throughline.errors import ConfigError
from throughline.graph.current import generations_of, graph_of
from throughline.graph.levels import Level
from throughline.graph.nodes import find_node
from throughline.projection import State
from throughline.query.pages import cut
from throughline.query.parameters import Cursor, Limit, Name
from throughline.query.registry import Times, query
from throughline.search.models import NewestAnswer, NodeAnswer, SearchAnswer
from throughline.search.newest import newest
from throughline.search.search import counts_of, search, search_hit
from throughline.search.summary import Summaries


@query("node", Times.THEN)
def node_answer(state: State, node: Name) -> NodeAnswer:
    """Return a node with everything that was last reported about it."""
    return Summaries(generations_of(state)).in_full(find_node(state, node))


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
    return {"items": list(islice(newest(state, graph_of(state, Level.TASK)), limit))}
