"""The texts of a node that a search covers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwater import deadline
from headwater.events.facets import Documentation, Schema, Sql, Tags
from headwater.graph.nodes import Node, facets_of
from headwater.node_facets import owners_of
from headwater.plugins.search._columns import columns_named, described_columns
from headwater.projection import State
from headwater.runs.summary import newest_run

KINDS = ("name", "column", "tag", "owner", "description", "sql", "error", "run", "version")
"""The places of a match, most relevant first."""


def last_part(name: str) -> str:
    """Return the last part of a qualified name."""
    return re.split(r"[./:]", name.casefold())[-1]


def texts_of(state: State, node: Node, *, with_sql: bool) -> Iterator[tuple[int, str]]:
    """Yield the texts of a node, each with its index in `KINDS`."""
    deadline.check()
    if node.type == "dataset":
        yield from ((1, name) for name in sorted(columns_named(state, node.dataset_name)))
    yield from ((0, name) for name in names_of(state, node))
    yield from ((3, owner) for owner in owners_of(state, node))
    for book in facets_of(state, node):
        yield from ((1, name) for name in book.parsed(Schema).fields)
        yield from ((1, name) for name in described_columns(book))
        yield from ((2, text) for tag in book.parsed(Tags).tags for text in (tag.key, tag.value))
        if description := book.parsed(Documentation).description:
            yield 4, description
        if with_sql and (sql := book.parsed(Sql).query):
            yield 5, sql
    run = newest_run(state, node.job_ref) if with_sql and node.type == "job" else None
    if run and (error := run.facets.get("errorMessage").get("message")):  # may contain SQL
        yield 6, str(error)


def names_of(state: State, node: Node) -> list[str]:
    """Return the name of a job, or all names of a dataset without their namespaces."""
    if node.type == "job":
        return [node.name]
    return [alias.name for alias in state.identity.names(node.dataset_name)]


def words_of(state: State, node: Node) -> Iterator[str]:
    """Yield the words of the names and columns of a node, in lower case, with repetitions."""
    for kind, value in texts_of(state, node, with_sql=False):
        if kind < 2:
            yield last_part(value)
            yield from re.findall(r"[^\W_]+", value.casefold())
