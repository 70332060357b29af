"""The texts of a node that a search covers.

A book has the facets of a job or of a dataset under one name; `parsed` returns one as a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from headwater import deadline
from headwater.events.facets import Documentation, Schema, Sql, Tags
from headwater.graph.nodes import Node, facets_of
from headwater.node_facets import owners_of
from headwater.plugins.search._columns import columns_named, described_columns
from headwater.projection import State
from headwater.runs.summary import newest_run


class Kind(IntEnum):
    """The kinds of the texts of a node, most relevant first; in lower case in answers."""

    NAME = 0
    COLUMN = 1
    TAG = 2
    OWNER = 3
    DESCRIPTION = 4
    SQL = 5
    ERROR = 6
    RUN = 7
    """The id of a run of a job."""
    VERSION = 8
    """A version of a dataset."""


def last_part(name: str) -> str:
    """Return the last part of a qualified name."""
    return re.split(r"[./:]", name.casefold())[-1]


def texts_of(state: State, node: Node, *, with_sql: bool) -> Iterator[tuple[Kind, str]]:
    """Yield the texts of a node, each with its kind.

    Texts with SQL are left out unless `with_sql`: not every client may read them.
    """
    deadline.check()
    if node.type == "dataset":
        yield from ((Kind.COLUMN, name) for name in sorted(columns_named(state, node.dataset_name)))
    yield from ((Kind.NAME, name) for name in names_of(state, node))
    yield from ((Kind.OWNER, owner) for owner in owners_of(state, node))
    for book in facets_of(state, node):
        yield from ((Kind.COLUMN, name) for name in book.parsed(Schema).fields)
        yield from ((Kind.COLUMN, name) for name in described_columns(book))
        yield from (
            (Kind.TAG, text) for tag in book.parsed(Tags).tags for text in (tag.key, tag.value)
        )
        if description := book.parsed(Documentation).description:
            yield Kind.DESCRIPTION, description
        if with_sql and (sql := book.parsed(Sql).query):
            yield Kind.SQL, sql
    run = newest_run(state, node.job_ref) if with_sql and node.type == "job" else None
    if run and (error := run.facets.get("errorMessage").get("message")):  # may contain SQL
        yield Kind.ERROR, str(error)


def names_of(state: State, node: Node) -> list[str]:
    """Return the name of a job, or all names of a dataset without their namespaces."""
    if node.type == "job":
        return [node.name]
    return [alias.name for alias in state.identity.names(node.dataset_name)]


def words_of(state: State, node: Node) -> set[str]:
    """Return the words of the names and columns of a node, in lower case."""
    deadline.check()
    texts = set(names_of(state, node))
    if node.type == "dataset":
        texts |= columns_named(state, node.dataset_name)
    for book in facets_of(state, node):
        texts.update(book.parsed(Schema).fields, described_columns(book))
    return {word for text in texts for word in _words_in(text)}


@lru_cache(10_000)
def _words_in(text: str) -> tuple[str, ...]:
    """Return the words of a name; most datasets share the names of their columns with others."""
    return last_part(text), *re.findall(r"[^\W_]+", text.casefold())
