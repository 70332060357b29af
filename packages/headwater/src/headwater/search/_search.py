"""Search over names, columns, tags, owners, descriptions and queries."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from headwater import deadline
from headwater.events.facets import Documentation, Schema, Sql, Tags
from headwater.graph.nodes import Node, facets_of, kind_of, owners_of
from headwater.projection import State
from headwater.search._columns import named_columns
from headwater.search.listing import active_at, node_row
from headwater.search.models import SearchCounts, SearchHit

_KINDS = ("name", "column", "tag", "owner", "description", "sql")
"""The places of a match, most relevant first."""
_LIKENESS = 0.75  # of two words, as difflib counts it, so that one may be a slip of the other
_SHOWN = 120  # characters of a long text


class Hit(NamedTuple):
    """A node that matches a search, with its best match."""

    is_fuzzy: bool
    fit: int
    """0 for the whole text, 1 for the beginning of a word, 2 for any part; 1 more if it is no name.
    Of a fuzzy hit, the rank of the similar word."""
    kind: int
    is_file: bool  # ranked last: a table may have many files
    is_unread: bool  # of columns: a table that no run reads ranks after those in use
    node: Node
    text: str

    @property
    def place(self) -> tuple[int | str, ...]:
        """Return the sort key among all hits."""
        return (*self[:5], *self.node)


def search(state: State, text: str, *, with_sql: bool = True) -> list[Hit]:
    """Return the nodes with a text in a name, column, tag, owner, description or query.

    Without SQL, queries are not searched.
    Whole texts rank first, then beginnings of words, then other parts; a word of a name ranks like
    a whole text elsewhere. Without a match, similar names, columns and words count (`isFuzzy`).
    """
    if found := _matches(state, text, with_sql=with_sql):
        return found
    words = {
        word
        for node in _nodes(state)
        for kind, value in _texts(state, node, with_sql=False)
        if kind < 2
        for word in (_last(value), *re.findall(r"[^\W_]+", value.casefold()))
    }
    possible = deadline.watched(sorted(words))
    wanted = "_".join(text.casefold().split())
    like = difflib.get_close_matches(wanted, possible, n=3, cutoff=_LIKENESS)
    hits = {
        hit.node: hit._replace(is_fuzzy=True, fit=rank)
        for rank, word in reversed([*enumerate(like)])
        for hit in _matches(state, word, with_sql=with_sql)
    }
    return list(hits.values())


def _matches(state: State, text: str, *, with_sql: bool) -> list[Hit]:
    wanted = text.casefold()
    begins = re.compile(rf"(?<![^\W_]){re.escape(wanted)}")
    best: dict[Node, Hit] = {}
    for node in _nodes(state):
        for kind, value in _texts(state, node, with_sql=with_sql):
            folded = value.casefold()
            if wanted not in folded:
                continue
            is_whole = wanted in (folded, _last(folded))
            fit = (0 if is_whole else 1 if begins.search(folded) else 2) + (kind > 0)
            is_file = node.type == "dataset" and kind_of(state, node) == "file"
            is_unread = kind == 1 and node.type == "dataset" and not _is_read(state, node)
            excerpt = _excerpt(value, folded.find(wanted))
            hit = Hit(False, fit, kind, is_file, is_unread, node, excerpt)
            best[node] = min(hit, best.get(node, hit))
    return list(best.values())


def _is_read(state: State, node: Node) -> bool:
    names = state.identity.names(node.dataset_name)
    return any((record := state.datasets.get(name)) and record.readers for name in names)


def _last(name: str) -> str:
    """Return the last part of a qualified name."""
    return re.split(r"[./:]", name.casefold())[-1]


def _nodes(state: State) -> Iterator[Node]:
    yield from map(Node.of_job, state.jobs)
    yield from map(Node.of_dataset, state.identity)


def _texts(state: State, node: Node, *, with_sql: bool) -> Iterator[tuple[int, str]]:
    """Yield the texts of a node, each with its index in `_KINDS`."""
    deadline.check()
    names = [node.name]
    if node.type == "dataset":
        names = [alias.name for alias in state.identity.names(node.dataset_name)]
        yield from ((1, name) for name in named_columns(state).get(node.dataset_name, ()))
    yield from ((0, name) for name in names)
    yield from ((3, owner) for owner in owners_of(state, node))
    for book in facets_of(state, node):
        yield from ((1, name) for name in book.parsed(Schema).fields)
        yield from ((1, name) for name in book.column_lineage().columns)
        yield from ((2, text) for tag in book.parsed(Tags).tags for text in (tag.key, tag.value))
        if description := book.parsed(Documentation).description:
            yield 4, description
        if with_sql and (sql := book.parsed(Sql).query):
            yield 5, sql


def _excerpt(text: str, at: int) -> str:
    """Return a line of a text around a match."""
    begin = max(0, at - _SHOWN // 3)
    part = " ".join(text[begin : begin + _SHOWN].split())
    return f"{'…' if begin else ''}{part}{'…' if len(text) > begin + _SHOWN else ''}"


def counts_of(hits: Iterable[Hit]) -> SearchCounts:
    """Count the hits by what matched."""
    found = Counter(_KINDS[hit.kind] for hit in hits)
    return cast("SearchCounts", {kind: found[kind] for kind in _KINDS})


def search_hit(state: State, hit: Hit) -> SearchHit:
    """Return a hit as part of the answer."""
    return {
        **node_row(state, hit.node),
        "activeAt": active_at(state, hit.node),
        "matched": _KINDS[hit.kind],
        "text": hit.text,
        "isFuzzy": hit.is_fuzzy,
    }


def hits_in(hits: Iterable[Hit], kind: str | None) -> list[Hit]:
    """Return the hits of a kind of text; without a kind, all hits."""
    return [hit for hit in hits if kind in (None, _KINDS[hit.kind])]
