"""Owners, tags, platform and kind of a node, as the facets of its events state them.

A dataset has the facets of all of its names. Lists, searches and details show these values. A
*facet book* has the newest facet of each kind, for a job or for one name of a dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from headwater.events import Facets
from headwater.events.facets import DatasetType, JobType, Ownership, Storage, Symlinks, Tags
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node, facets_of
from headwater.identity import DatasetName, is_location
from headwater.projection import State, unpack
from headwater.projection.facet_books import FacetBook, Stamp

_WEB = ("http", "https", "ftp")
"""Schemes of namespaces whose datasets are files, although their names are no paths."""

_KINDS = {
    "MODEL": "model",
    "JOB_OUTPUT": "artifact",
    "FILE": "file",
    "TOPIC": "stream",
    "STREAM": "stream",
    "VIEW": "view",
}
"""The kinds shown for values of the datasetType facet; all other values are shown as `table`."""


def owners_of(state: State, node: Node) -> list[str]:
    """Return the names in the ownership facets of a node."""
    books = facets_of(state, node)
    return sorted({owner for book in books for owner in book.parsed(Ownership).owners})


def platform_of(state: State, node: Node) -> str | None:
    """Return the integration of a job or storage layer of a dataset; None if unknown."""
    books = facets_of(state, node)
    if node.type == "job":
        values = [book.parsed(JobType).integration for book in books]
    else:
        values = [book.parsed(Storage).storageLayer for book in books]
    return next((value for value in values if value and value.lower() != "unknown"), None)


def kind_of(state: State, node: Node) -> str:
    """Return the kind of a dataset: table, view, file, model, artifact or stream.

    It comes from its datasetType facet, or else from its names. A table is a view if all runs whose
    data it has only created a view, by their SQL text or the configuration of dbt.
    """
    if stated := _stated_kind(state, node):
        return stated
    if node.namespace.startswith("kafka:"):
        return "stream"
    if is_file(state, node):
        return "file"
    return "view" if _is_created_as_view(state, node.dataset_name) else "table"


def is_file(state: State, node: Node) -> bool:
    """Return True for a dataset whose kind is `file`. This is cheaper than `kind_of`."""
    if node.type == "job":
        return False
    if stated := _stated_kind(state, node):
        return stated == "file"
    is_named_by_catalog = any(book.get(Symlinks.KEY) for book in facets_of(state, node))
    is_path = is_location(node.dataset_name) or node.namespace.split(":")[0] in _WEB
    return is_path and not is_named_by_catalog


def _stated_kind(state: State, node: Node) -> str | None:
    """Return the kind in the datasetType facet of the first name that has one; else None."""
    for book in facets_of(state, node):
        if stated := book.parsed(DatasetType).datasetType:
            return _KINDS.get(stated.upper(), "table")
    return None


def _is_created_as_view(state: State, name: DatasetName) -> bool:
    writing = generations_of(state).writing(name)
    return bool(writing) and all(name in generation.views for generation in writing)


def tags_of(state: State, node: Node) -> set[str]:
    """Return the tags of a node; those of its columns as `key (field)`."""
    tags = (tag for book in facets_of(state, node) for tag in book.parsed(Tags).tags)
    return {f"{tag.label} ({tag.field})" if tag.field else tag.label for tag in tags}


def newest_facets(books: Iterable[FacetBook], only: Set[str] | None = None) -> Facets:
    """Return the newest facet of each name in several books; `only` limits the names."""
    newest: dict[str, tuple[Stamp, bytes]] = {}
    for book in books:
        for name, stamped in book.stamped().items():
            is_requested = only is None or name in only
            if is_requested and (name not in newest or stamped[0] > newest[name][0]):
                newest[name] = stamped
    return {name: unpack(packed) for name, (_, packed) in sorted(newest.items())}
